#include "tuner/search/tflms_sets.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <set>
#include <string>

#include "base/status_macros.h"
#include "executor/plan/choose_schedule.h"
#include "fmt/format.h"
#include "lms/lms.h"

namespace spillway {
namespace {

using Numbers = std::array<int64_t, 3>;  // threshold, ahead, groupby

LmsOptions With(LmsOptions options, const Numbers& numbers) {
  options.mode = LmsMode::kV2;
  options.v2.swapout_threshold = numbers[0];
  options.v2.swapin_ahead = numbers[1];
  options.v2.swapin_groupby = numbers[2];
  return options;
}

// `least`, then powers of two below `most`.
std::vector<int64_t> Values(int64_t least, int64_t most) {
  std::vector<int64_t> values;
  if (least == 0) values.push_back(0);
  for (int64_t value = 1; value < most || value == 1; value *= 2) {
    values.push_back(value);
  }
  return values;
}

}  // namespace

std::vector<LmsOptions> UsualSets(const LmsOptions& common, int64_t num_levels,
                                  size_t max) {
  std::vector<LmsOptions> sets;
  for (const int64_t threshold : {num_levels / 2, num_levels / 4, int64_t{1}}) {
    for (const int64_t ahead : {4, 1, 16}) {
      if (threshold >= 1) sets.push_back(With(common, {threshold, ahead, 0}));
    }
  }
  sets.push_back(With(common, {std::max<int64_t>(1, num_levels / 4), 4, 8}));
  sets.push_back(With(common, {1, 1, 8}));
  LmsOptions set = common;
  set.mode = LmsMode::kV1;
  size_t place = 0;  // a set of version 1 after each of version 2
  for (const int64_t lb : {10, 3, 1}) {
    for (const ControlStrategy strategy :
         {ControlStrategy::kDirectOrder, ControlStrategy::kChainRule}) {
      set.v1.lb = lb;
      set.v1.ctrld_strategy = strategy;
      place = std::min(place + 1, sets.size());
      sets.insert(sets.begin() + static_cast<std::ptrdiff_t>(place++), set);
    }
  }
  sets.resize(std::min(max, sets.size()));
  return sets;
}

std::vector<LmsOptions> GridOfSets(const LmsOptions& common,
                                   int64_t num_levels) {
  std::vector<LmsOptions> sets;
  for (const int64_t threshold : Values(1, num_levels)) {
    for (const int64_t ahead : Values(1, num_levels)) {
      for (const int64_t groupby : {0, 2, 8}) {
        sets.push_back(With(common, {threshold, ahead, groupby}));
      }
    }
  }
  LmsOptions set = common;
  set.mode = LmsMode::kV1;
  for (const int64_t lb : {1, 2, 3, 4, 10}) {
    for (const ControlStrategy strategy :
         {ControlStrategy::kDirectOrder, ControlStrategy::kChainRule}) {
      for (const bool fuse : {false, true}) {
        for (const bool branches : {false, true}) {
          set.v1.lb = lb;
          set.v1.ctrld_strategy = strategy;
          set.v1.fuse_swapins = fuse;
          set.v1.swap_branches = branches;
          sets.push_back(set);
        }
      }
    }
  }
  return sets;
}

void ForEachV2Set(
    const LmsOptions& common, int64_t num_levels,
    const std::function<std::optional<int64_t>(const LmsOptions& options)>&
        step_ns) {
  const Numbers given = {common.v2.swapout_threshold, common.v2.swapin_ahead,
                         common.v2.swapin_groupby};
  constexpr Numbers kLeast = {1, 1, 0};
  Numbers best;
  for (size_t i = 0; i < best.size(); ++i) {
    best[i] = given[i] >= 0 ? given[i] : kLeast[i];
  }
  constexpr int64_t kDoesNotFit = std::numeric_limits<int64_t>::max();
  int64_t best_ns = step_ns(With(common, best)).value_or(kDoesNotFit);
  std::set<Numbers> asked = {best};
  for (bool has_improved = true; has_improved;) {
    has_improved = false;
    for (size_t i = 0; i < best.size(); ++i) {
      if (given[i] >= 0) continue;
      for (const int64_t value : Values(kLeast[i], num_levels)) {
        Numbers numbers = best;
        numbers[i] = value;
        if (!asked.insert(numbers).second) continue;
        const int64_t ns = step_ns(With(common, numbers)).value_or(kDoesNotFit);
        if (ns >= best_ns) continue;
        best_ns = ns;
        best = numbers;
        has_improved = true;
      }
    }
  }
}

absl::StatusOr<StepRecipe> RecipeOf(const TunerInputs& inputs,
                                    const LmsOptions& options) {
  StepRecipe recipe = {.name = DescribeOptions(options), .options = options};
  SPILLWAY_ASSIGN_OR_RETURN(recipe.swaps,
                            PlanSwaps(options, inputs.ops, inputs.graph));
  SPILLWAY_ASSIGN_OR_RETURN(const Graph edited,
                            ApplyRecipe(recipe, inputs.ops, inputs.graph));
  SPILLWAY_ASSIGN_OR_RETURN(
      recipe.schedule,
      ChooseSchedule(edited, inputs.ops,
                     NodesToRun(edited, inputs.ops, inputs.compile.fetches),
                     ScheduleKind::kMemory,
                     OptionsFor(recipe, edited, inputs.compile)));
  return recipe;
}

std::string DescribeOptions(const LmsOptions& options) {
  switch (options.mode) {
    case LmsMode::kOff:
    case LmsMode::kAuto:
      return std::string(LmsModeName(options.mode));
    case LmsMode::kV1:
      return fmt::format(
          "v1 {} lb {} ub {}{}{}",
          std::string(ControlStrategyName(options.v1.ctrld_strategy)),
          options.v1.lb, options.v1.ub, options.v1.fuse_swapins ? " fused" : "",
          options.v1.swap_branches ? " branches" : "");
    case LmsMode::kV2:
      return fmt::format("v2 threshold {} ahead {} groupby {} sync {}",
                         options.v2.swapout_threshold, options.v2.swapin_ahead,
                         options.v2.swapin_groupby, options.v2.sync_mode);
  }
  return "";
}

}  // namespace spillway
