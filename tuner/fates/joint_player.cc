#include "tuner/fates/joint_player.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "tuner/search/belady.h"
#include "tuner/search/range_bytes.h"

namespace spillway {
namespace {

// Of all copies that leave the device; each occupies the host until the end,
// which is more than a plan needs.
int64_t HostBytesOf(const StepModel& model, const MovedGaps& moved) {
  std::vector<char> is_copied(model.copies.size(), 0);
  int64_t bytes = 0;
  for (size_t i = 0; i < moved.size(); ++i) {
    const auto copy = static_cast<size_t>(model.gaps[i].copy_out);
    if (moved[i] == 0 || is_copied[copy] != 0) continue;
    is_copied[copy] = 1;
    if (!model.copies[copy].is_feed) bytes += model.gaps[i].aligned_bytes;
  }
  return bytes;
}

// Whether both have the same clones.
bool RecomputeTheSame(const Fates& a, const Fates& b) {
  for (size_t i = 0; i < a.of_gap.size(); ++i) {
    const bool is_recomputed = a.of_gap[i] == Fate::kRecomputed;
    if (is_recomputed != (b.of_gap[i] == Fate::kRecomputed) ||
        (is_recomputed && a.released[i] != b.released[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::shared_ptr<const RecomputedStep> MakeRecomputedStep(
    const RecomputeSpace& space, const Fates& fates, int64_t limit_ns) {
  std::optional<Materialized> materialized = Materialize(space, fates);
  if (!materialized ||
      space.model.kernels_ns + materialized->recompute_ns >= limit_ns) {
    return nullptr;
  }
  auto made = std::make_shared<RecomputedStep>();
  made->materialized = *std::move(materialized);
  made->model = MakeStepModel(made->materialized.list, space.profile);
  made->around = SpaceGapsOf(space, made->materialized, made->model);
  return made;
}

JointPlayer::JointPlayer(const RecomputeSpace& space, int64_t budget_bytes,
                         int64_t least_bytes, int64_t host_bytes)
    : space_(space),
      budget_bytes_(budget_bytes),
      least_bytes_(least_bytes),
      host_bytes_(host_bytes) {}

JointPlayer JointPlayer::Pinned(std::vector<char> pinned) const {
  JointPlayer player = *this;
  player.pinned_ = std::move(pinned);
  return player;
}

bool JointPlayer::MayLeave(size_t gap) const {
  const auto copy = static_cast<size_t>(space_.model.gaps[gap].copy_out);
  return host_bytes_ > 0 || space_.model.copies[copy].is_feed;
}

// A step after Belady's rule, not played yet.
struct JointPlayer::Draft {
  Fates fates = {};
  std::shared_ptr<const RecomputedStep> recomputed = nullptr;
  MovedGaps moved = {};
  RangeBytes bytes;  // by step of the model

  size_t GapAround(size_t gap) const {
    return static_cast<size_t>(recomputed->around[gap]);
  }
};

std::optional<JointPlayer::Draft> JointPlayer::MakeDraft(
    Fates fates, int64_t limit_ns, const JointStep* near) const {
  std::shared_ptr<const RecomputedStep> recomputed =
      near != nullptr && RecomputeTheSame(fates, near->fates)
          ? near->recomputed
          : MakeRecomputedStep(space_, fates, limit_ns);
  if (recomputed == nullptr) return std::nullopt;
  const StepModel& model = recomputed->model;
  const std::vector<int32_t>& around = recomputed->around;
  const auto fate = [&](size_t gap) {
    return fates.of_gap[static_cast<size_t>(around[gap])];
  };
  const auto can_move = [&](size_t i) {
    const Gap& gap = model.gaps[i];
    return around[i] >= 0 && gap.is_movable &&
           (host_bytes_ > 0 ||
            model.copies[static_cast<size_t>(gap.copy_out)].is_feed);
  };
  MovedGaps moved(model.gaps.size(), 0);
  for (size_t i = 0; i < moved.size(); ++i) {
    if (can_move(i) && fate(i) == Fate::kSwapped) moved[i] = 1;
  }
  const auto may_move = [&](size_t i) {
    return can_move(i) && model.gaps[i].aligned_bytes >= least_bytes_ &&
           fate(i) == Fate::kKept && !IsPinned(static_cast<size_t>(around[i]));
  };
  RangeBytes bytes(BytesOf(model, moved));
  if (bytes.Most() > budget_bytes_) {
    MoveByBelady(model, budget_bytes_, may_move, moved);
    bytes = RangeBytes(BytesOf(model, moved));
  }
  return Draft{.fates = std::move(fates),
               .recomputed = std::move(recomputed),
               .moved = std::move(moved),
               .bytes = std::move(bytes)};
}

std::optional<int64_t> JointPlayer::LeastBytes(Fates fates) const {
  const std::optional<Draft> draft =
      MakeDraft(std::move(fates), kNoLimit, nullptr);
  if (!draft) return std::nullopt;
  return draft->bytes.Most();
}

std::optional<JointStep> JointPlayer::Play(Fates fates, int64_t limit_ns,
                                           const JointStep* near) const {
  std::optional<Draft> draft = MakeDraft(std::move(fates), limit_ns, near);
  if (!draft || draft->bytes.Most() > budget_bytes_) return std::nullopt;
  const StepModel& model = draft->recomputed->model;
  MovedGaps& moved = draft->moved;
  std::vector<size_t> by_size;
  for (size_t i = 0; i < moved.size(); ++i) {
    if (moved[i] != 0) by_size.push_back(i);
  }
  std::ranges::stable_sort(by_size, std::greater(), [&](size_t i) {
    return model.gaps[i].aligned_bytes;
  });
  for (const size_t i : by_size) {
    if (IsPinned(draft->GapAround(i))) continue;
    const Gap& gap = model.gaps[i];
    if (draft->bytes.Most(gap.last + 1, gap.next) + gap.aligned_bytes >
        budget_bytes_) {
      continue;
    }
    draft->bytes.Add(gap.last + 1, gap.next, gap.aligned_bytes);
    moved[i] = 0;
  }
  if (HostBytesOf(model, moved) > host_bytes_) return std::nullopt;
  const auto set_fate = [&](size_t i, Fate fate) {
    draft->fates.of_gap[draft->GapAround(i)] = fate;
  };
  for (const size_t i : by_size) set_fate(i, Fate::kKept);
  for (const size_t i : by_size) {
    if (moved[i] != 0) set_fate(i, Fate::kSwapped);
  }
  JointStep step = {.fates = std::move(draft->fates),
                    .recomputed = std::move(draft->recomputed),
                    .moved = std::move(draft->moved),
                    .budget_bytes = budget_bytes_};
  if (near != nullptr && near->recomputed == step.recomputed &&
      near->moved == step.moved) {
    step.played = near->played;
    if (step.played.step_ns >= limit_ns) return std::nullopt;
  } else {
    step.played = SwapPlayer(model, budget_bytes_).Play(step.moved, limit_ns);
    if (!step.played.fits) return std::nullopt;
  }
  return step;
}

std::vector<int64_t> OccupiedBytes(const RecomputeSpace& space,
                                   const JointStep& step) {
  const std::vector<int64_t> bytes = BytesOf(step.model(), step.moved);
  std::vector<int64_t> most(space.model.steps.size(), 0);
  for (size_t k = 0; k < bytes.size(); ++k) {
    int64_t& at = most[static_cast<size_t>(step.materialized().base_step[k])];
    at = std::max(at, bytes[k]);
  }
  return most;
}

}  // namespace spillway
