#include "tuner/model/swap_player.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <utility>

#include "tuner/search/choose_returns.h"

namespace spillway {
namespace {

template <typename T>
using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<T>>;

constexpr size_t PlayIndex(int32_t i) { return static_cast<size_t>(i); }

std::vector<int32_t> GapsThatMove(const MovedGaps& moved) {
  std::vector<int32_t> gaps;
  for (size_t i = 0; i < moved.size(); ++i) {
    if (moved[i] != 0) gaps.push_back(static_cast<int32_t>(i));
  }
  return gaps;
}

// Device bytes by step if every moved tensor is away for its whole gap.
std::vector<int64_t> BytesThatStay(const StepModel& model,
                                   const std::vector<int32_t>& moved) {
  std::vector<int64_t> bytes(model.steps.size() + 1, 0);
  for (const int32_t index : moved) {
    const Gap& gap = model.gaps[PlayIndex(index)];
    bytes[PlayIndex(gap.last + 1)] -= gap.aligned_bytes;
    bytes[PlayIndex(gap.next)] += gap.aligned_bytes;
  }
  for (size_t k = 1; k < bytes.size(); ++k) bytes[k] += bytes[k - 1];
  for (size_t k = 0; k < model.steps.size(); ++k) {
    bytes[k] += model.steps[k].live_bytes;
  }
  return bytes;
}

// When a copy ends that begins at `begin_ns` and takes `alone_ns`, or
// `shared_ns` while the other direction copies, which it does until
// `other_until_ns`.
int64_t EndOfCopy(int64_t begin_ns, int64_t alone_ns, int64_t shared_ns,
                  int64_t other_until_ns) {
  const int64_t together_ns = other_until_ns - begin_ns;
  if (together_ns <= 0) return begin_ns + alone_ns;
  if (together_ns >= shared_ns) return begin_ns + shared_ns;
  const double left =
      1 - static_cast<double>(together_ns) / static_cast<double>(shared_ns);
  const auto rest_ns =
      static_cast<int64_t>(std::ceil(left * static_cast<double>(alone_ns)));
  return std::clamp(other_until_ns + rest_ns, begin_ns + alone_ns,
                    begin_ns + shared_ns);
}

// Replays the steps in order, with their waits.
class Replay {
 public:
  // `start_ns`: of each step without stalls, and of the end.
  Replay(const StepModel& model, int64_t budget_bytes,
         const std::vector<int64_t>& start_ns,
         const std::vector<int64_t>& staying_bytes,
         const std::vector<int32_t>& moved, PlayedStep& result)
      : model_(model),
        budget_bytes_(budget_bytes),
        start_ns_(start_ns),
        staying_bytes_(staying_bytes),
        result_(result),
        by_last_(moved),
        by_written_(moved),
        by_return_(moved) {
    std::ranges::stable_sort(
        by_written_, {}, [&](int32_t index) { return copy(index).written; });
    std::ranges::stable_sort(by_return_, {}, [&](int32_t index) {
      return std::pair(result_.back_after[PlayIndex(index)], gap(index).next);
    });
  }

  // Whether it is faster than the limit.
  bool Run(int64_t limit_ns) {
    result_.stall_ns.assign(model_.gaps.size(), 0);
    result_.step_ran_ns.resize(model_.steps.size());
    result_.copy_out_ran_ns.resize(model_.copies.size());
    result_.copy_in_ran_ns.resize(model_.gaps.size());
    for (size_t i = 0; i < model_.steps.size(); ++i) {
      const auto k = static_cast<int32_t>(i);
      StartLeaving(k);
      WaitForReturned(k);
      ReadReturned(k);
      FreeForKernel(k);
      StartReturning(k);
      WaitForReturned(k);
      RunStep(k);
      if (now_ns_ - start_ns_[i + 1] >= limit_ns - start_ns_.back()) {
        return false;
      }
    }
    result_.step_ns = std::max({now_ns_, in_free_ns_, out_free_ns_});
    return result_.step_ns < limit_ns;
  }

 private:
  struct Returning {
    int32_t reader = 0;
    int32_t gap = 0;
    int64_t done_ns = 0;
    bool operator>(const Returning& other) const {
      return std::pair(reader, gap) > std::pair(other.reader, other.gap);
    }
  };

  // A change of the live bytes at `ns`, already included in extra_bytes_.
  struct Change {
    int64_t ns = 0;
    int32_t gap = 0;
    int64_t bytes = 0;
    bool operator>(const Change& other) const {
      return std::pair(ns, gap) > std::pair(other.ns, other.gap);
    }
  };

  const Gap& gap(int32_t index) const { return model_.gaps[PlayIndex(index)]; }
  const CopyOut& copy(int32_t index) const {
    return model_.copies[PlayIndex(gap(index).copy_out)];
  }
  Interval& copy_out_ran_ns(int32_t index) {
    return result_.copy_out_ran_ns[PlayIndex(gap(index).copy_out)];
  }

  // Tensors whose gap has begun keep their bytes until a step waits for their
  // copy to the host.
  void StartLeaving(int32_t k) {
    for (; next_last_ < by_last_.size() && gap(by_last_[next_last_]).last < k;
         ++next_last_) {
      const int32_t index = by_last_[next_last_];
      leaving_.emplace(copy_out_ran_ns(index).end, index);
      extra_bytes_ += gap(index).aligned_bytes;
    }
  }

  // Ends the oldest copies to the host until a copy back has enough bytes.
  // Returns when the last of them ends.
  int64_t FreeForReturn(int32_t k, int64_t from_ns) {
    while (staying_bytes_[PlayIndex(k)] + extra_bytes_ > budget_bytes_ &&
           !leaving_.empty()) {
      const auto [done_ns, index] = leaving_.top();
      leaving_.pop();
      extra_bytes_ -= gap(index).aligned_bytes;
      ChangeLater(
          {.ns = done_ns, .gap = index, .bytes = -gap(index).aligned_bytes});
      from_ns = std::max(from_ns, done_ns);
    }
    return from_ns;
  }

  // The same for a kernel, which waits.
  void FreeForKernel(int32_t k) {
    SettleChanges();
    while (staying_bytes_[PlayIndex(k)] + MostExtraBytes() > budget_bytes_ &&
           !(leaving_.empty() && later_bytes_ >= 0)) {
      if (changes_.empty() ||
          (!leaving_.empty() && leaving_.top().first < changes_.top().ns)) {
        const auto [done_ns, index] = leaving_.top();
        leaving_.pop();
        extra_bytes_ -= gap(index).aligned_bytes;
        WaitFor(done_ns, index);
      } else {
        WaitFor(changes_.top().ns, changes_.top().gap);
      }
      SettleChanges();
    }
  }

  // The larger value before and after the pending changes.
  int64_t MostExtraBytes() const {
    return extra_bytes_ - std::min<int64_t>(later_bytes_, 0);
  }

  void WaitFor(int64_t until_ns, int32_t index) {
    if (until_ns <= now_ns_) return;
    result_.stall_ns[PlayIndex(index)] += until_ns - now_ns_;
    now_ns_ = until_ns;
  }

  void ChangeLater(const Change& change) {
    if (change.ns <= now_ns_) return;
    changes_.push(change);
    later_bytes_ += change.bytes;
  }

  void SettleChanges() {
    while (!changes_.empty() && changes_.top().ns <= now_ns_) {
      later_bytes_ -= changes_.top().bytes;
      changes_.pop();
    }
  }

  // Issues the copies back that belong right before step k.
  void StartReturning(int32_t k) {
    for (; next_return_ < by_return_.size(); ++next_return_) {
      const int32_t index = by_return_[next_return_];
      if (result_.back_after[PlayIndex(index)] >= k) break;
      const bool is_early = gap(index).next > k;
      if (is_early) extra_bytes_ += gap(index).aligned_bytes;
      const int64_t possible_ns =
          std::max({in_free_ns_, computed_ns_, copy_out_ran_ns(index).end});
      const int64_t begin_ns = FreeForReturn(k, possible_ns);
      if (is_early) {
        ChangeLater(
            {.ns = begin_ns, .gap = index, .bytes = gap(index).aligned_bytes});
      }
      in_free_ns_ = EndOfCopy(begin_ns, gap(index).copy_in_ns,
                              gap(index).shared_in_ns, out_free_ns_);
      result_.copy_in_ran_ns[PlayIndex(index)] = {begin_ns, in_free_ns_};
      returning_.push(
          {.reader = gap(index).next, .gap = index, .done_ns = in_free_ns_});
      if (is_early) early_.emplace(gap(index).next, gap(index).aligned_bytes);
      result_.moved_bytes += copy(index).bytes;
      slowed_ns_ += gap(index).in_slows_ns;
    }
  }

  // From its reader on, a tensor is part of the staying bytes.
  void ReadReturned(int32_t k) {
    while (!early_.empty() && early_.top().first <= k) {
      extra_bytes_ -= early_.top().second;
      early_.pop();
    }
  }

  void WaitForReturned(int32_t k) {
    while (!returning_.empty() && returning_.top().reader <= k) {
      const Returning top = returning_.top();
      returning_.pop();
      WaitFor(top.done_ns, top.gap);
    }
  }

  void RunStep(int32_t k) {
    const ModelStep& step = model_.steps[PlayIndex(k)];
    Interval& ran_ns = result_.step_ran_ns[PlayIndex(k)];
    if (step.kind == StepKind::kFeed) {
      ran_ns = {in_free_ns_, in_free_ns_ + step.ns};
      in_free_ns_ = ran_ns.end;
      fed_ns_ = ran_ns.end;
    } else {
      ran_ns.begin = std::max(now_ns_, fed_ns_);
      ran_ns.end = ran_ns.begin + step.ns + std::exchange(slowed_ns_, 0);
      now_ns_ = ran_ns.end;
      computed_ns_ = ran_ns.end;
    }
    for (; next_written_ < by_written_.size() &&
           copy(by_written_[next_written_]).written <= k;
         ++next_written_) {
      StartCopyOut(by_written_[next_written_]);
    }
  }

  void StartCopyOut(int32_t index) {
    const CopyOut& out = copy(index);
    Interval& ran_ns = copy_out_ran_ns(index);
    if (!ran_ns.empty()) return;
    const int64_t written_ns = result_.step_ran_ns[PlayIndex(out.written)].end;
    if (out.is_feed) {
      ran_ns = {written_ns, written_ns};
      return;
    }
    ran_ns.begin = std::max(out_free_ns_, written_ns);
    ran_ns.end = EndOfCopy(ran_ns.begin, out.ns, out.shared_ns, in_free_ns_);
    out_free_ns_ = ran_ns.end;
    result_.moved_bytes += out.bytes;
    slowed_ns_ += out.slows_ns;
  }

  const StepModel& model_;
  const int64_t budget_bytes_;
  const std::vector<int64_t>& start_ns_;
  const std::vector<int64_t>& staying_bytes_;
  PlayedStep& result_;
  const std::vector<int32_t> by_last_;
  std::vector<int32_t> by_written_, by_return_;
  size_t next_last_ = 0, next_written_ = 0, next_return_ = 0;
  int64_t now_ns_ = 0;
  int64_t computed_ns_ = 0;  // end of the last step that is not a feed
  int64_t out_free_ns_ = 0;
  int64_t in_free_ns_ = 0;
  int64_t fed_ns_ = 0;
  int64_t slowed_ns_ = 0;  // by copies that began; the next kernel takes longer
  // In addition to the staying bytes: tensors that leave, or came back early.
  int64_t extra_bytes_ = 0;
  LeastFirst<Change> changes_;
  int64_t later_bytes_ = 0;                          // sum of changes_
  LeastFirst<std::pair<int64_t, int32_t>> leaving_;  // end of copy, gap
  LeastFirst<std::pair<int32_t, int64_t>> early_;    // reader, bytes
  std::priority_queue<Returning, std::vector<Returning>, std::greater<>>
      returning_;
};

}  // namespace

SwapPlayer::SwapPlayer(const StepModel& model, int64_t budget_bytes)
    : model_(model), budget_bytes_(budget_bytes) {
  int64_t now = 0;
  for (const ModelStep& step : model.steps) {
    start_ns_.push_back(now);
    if (step.kind == StepKind::kCompute) now += step.ns;
  }
  start_ns_.push_back(now);
}

PlayedStep SwapPlayer::Play(const MovedGaps& moved, int64_t limit_ns) const {
  PlayedStep result;
  const std::vector<int32_t> gaps = GapsThatMove(moved);
  const std::vector<int64_t> staying = BytesThatStay(model_, gaps);
  result.fits = std::ranges::max(staying) <= budget_bytes_;
  if (!result.fits) return result;
  result.back_after = ChooseReturns({.model = model_,
                                     .budget_bytes = budget_bytes_,
                                     .start_ns = start_ns_,
                                     .staying_bytes = staying,
                                     .moved = gaps});
  result.fits = Replay(model_, budget_bytes_, start_ns_, staying, gaps, result)
                    .Run(limit_ns);
  return result;
}

}  // namespace spillway
