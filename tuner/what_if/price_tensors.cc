#include "tuner/what_if/price_tensors.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/edit_distance.h"
#include "base/interval.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "tuner/fates/fate_candidates.h"
#include "tuner/what_if/step_inputs.h"

namespace spillway {
namespace {

int64_t UsualPlays(const RecomputeSpace& space) {
  constexpr int64_t kWork = 50'000;
  const auto steps = static_cast<int64_t>(space.model.steps.size()) + 1;
  return std::clamp<int64_t>(kWork / steps, 10, 100);
}

// The part of `window` that the copies take.
double BusyPart(const std::vector<Interval>& copies, const Interval& window) {
  if (window.length() <= 0) return 0;
  int64_t busy_ns = 0;
  for (const Interval& copy : copies) {
    busy_ns += std::max<int64_t>(
        0, std::min(copy.end, window.end) - std::max(copy.begin, window.begin));
  }
  return static_cast<double>(busy_ns) / static_cast<double>(window.length());
}

// Reads the gaps of tensors off a played step.
class GapReader {
 public:
  GapReader(const RecomputeSpace& space, const JointStep& step)
      : space_(space),
        step_(step),
        occupied_(OccupiedBytes(space, step)),
        ran_ns_(space.list.steps.size()),
        stall_ns_(space.num_gaps(), 0) {
    const std::vector<int32_t>& around = step.recomputed->around;
    for (size_t k = 0; k < step.model().steps.size(); ++k) {
      ran_ns_[static_cast<size_t>(step.materialized().base_step[k])] =
          step.played.step_ran_ns[k];
    }
    for (size_t i = 0; i < around.size(); ++i) {
      if (around[i] < 0) continue;
      stall_ns_[static_cast<size_t>(around[i])] += step.played.stall_ns[i];
    }
  }

  std::vector<TensorGap> Read(StorageIndex storage) const {
    std::vector<TensorGap> gaps;
    for (const int32_t g : space_.gaps_of[static_cast<size_t>(storage)]) {
      gaps.push_back(ReadGap(static_cast<size_t>(g)));
    }
    return gaps;
  }

 private:
  TensorGap ReadGap(size_t g) const {
    const Gap& gap = space_.model.gaps[g];
    const Interval window = {RanNs(gap.last).end, RanNs(gap.next).begin};
    TensorGap read = {
        .fate = step_.fates.of_gap[g],
        .from = NodeName(gap.last),
        .to = NodeName(gap.next),
        .length_ns = window.length(),
        .busy_out = BusyPart(step_.played.copy_out_ran_ns, window),
        .busy_in = BusyPart(step_.played.copy_in_ran_ns, window),
        .stall_ns = stall_ns_[g]};
    const auto first = occupied_.begin() + gap.last + 1;
    const auto fullest = std::max_element(first, occupied_.begin() + gap.next);
    read.free_bytes = step_.budget_bytes - *fullest;
    read.fullest = NodeName(static_cast<int32_t>(fullest - occupied_.begin()));
    return read;
  }

  Interval RanNs(int32_t step) const {
    return ran_ns_[static_cast<size_t>(step)];
  }

  std::string NodeName(int32_t step) const {
    const NodeId id = space_.list.steps[static_cast<size_t>(step)].node;
    return std::string(space_.graph.node(id).name);
  }

  const RecomputeSpace& space_;
  const JointStep& step_;
  const std::vector<int64_t> occupied_;  // by original step
  std::vector<Interval> ran_ns_;         // by original step
  std::vector<int64_t> stall_ns_;        // by gap of the space
};

// The storages that have a gap, the largest first.
std::vector<StorageIndex> StoragesWithGaps(const RecomputeSpace& space) {
  std::vector<StorageIndex> storages;
  for (size_t i = 0; i < space.gaps_of.size(); ++i) {
    if (!space.gaps_of[i].empty()) {
      storages.push_back(static_cast<StorageIndex>(i));
    }
  }
  std::ranges::stable_sort(storages, std::greater(), [&](StorageIndex storage) {
    return space.list.storages[static_cast<size_t>(storage)].bytes;
  });
  return storages;
}

std::string NameOf(const RecomputeSpace& space, StorageIndex storage) {
  return space.graph.ValueName(
      space.list.storages[static_cast<size_t>(storage)].root);
}

absl::StatusOr<std::vector<StorageIndex>> ChooseStorages(
    const RecomputeSpace& space, const PriceRequest& request) {
  std::vector<StorageIndex> all = StoragesWithGaps(space);
  if (request.tensors.empty()) {
    all.resize(std::min(all.size(), request.most));
    return all;
  }
  std::vector<StorageIndex> chosen;
  for (const std::string& name : request.tensors) {
    const auto found = std::ranges::find_if(all, [&](StorageIndex storage) {
      return NameOf(space, storage) == name;
    });
    if (found != all.end()) {
      chosen.push_back(*found);
      continue;
    }
    if (!request.must_exist) continue;
    std::vector<std::string> names;
    names.reserve(all.size());
    for (const StorageIndex storage : all) {
      names.push_back(NameOf(space, storage));
    }
    const std::string meant = NameMeantBy(name, names);
    return NotFound(fmt::format(
        "\"{}\" is no tensor that waits between two uses{}", name,
        meant.empty() ? "" : fmt::format("; did you mean \"{}\"?", meant)));
  }
  return chosen;
}

}  // namespace

absl::StatusOr<std::vector<TensorPrice>> PriceTensors(
    const TuningSpec& spec, const EvaluatedRecipe& chosen,
    const PriceRequest& request) {
  const FateChoice* choice = chosen.recipe.fates.get();
  if (choice == nullptr) return std::vector<TensorPrice>();
  StepInputs prepared;
  SPILLWAY_RETURN_IF_ERROR(prepared.Prepare(spec, &chosen.recipe.algorithms));
  const TunerInputs inputs = prepared.Inputs(spec);
  const RecomputeSpace space = SpaceOf(inputs, choice->schedule);
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<StorageIndex> storages,
                            ChooseStorages(space, request));
  const int64_t least_bytes =
      LeastSearchedBytes(space, spec.options->lms.size_threshold_bytes);
  const JointPlayer player(
      space, choice->budget_bytes, least_bytes,
      inputs.compile.host_budget_bytes.value_or(JointPlayer::kNoLimit));
  const std::optional<JointStep> step = player.Play(choice->fates);
  if (!step) return std::vector<TensorPrice>();
  const GapReader reader(space, *step);
  const int64_t plays = request.plays > 0 ? request.plays : UsualPlays(space);
  std::vector<TensorPrice> prices;
  for (const FatePrice& price :
       PriceFates(player, choice->fates, storages,
                  {.size_threshold_bytes = least_bytes, .plays = plays})) {
    const size_t gap = LongestGap(space, price.storage);
    prices.push_back({.tensor = NameOf(space, price.storage),
                      .bytes = space.model.gaps[gap].aligned_bytes,
                      .fate = step->fates.of_gap[gap],
                      .change_ns = price.change_ns,
                      .gaps = reader.Read(price.storage)});
  }
  return prices;
}

absl::StatusOr<std::vector<TensorPrice>> PriceTensors(
    const Program& program, const TuneResult& result,
    const PriceRequest& request) {
  return PriceTensors({.graph = &program.graph,
                       .fetches = program.fetches,
                       .options = &result.options,
                       .profile = &result.profile},
                      result.step.chosen, request);
}

}  // namespace spillway
