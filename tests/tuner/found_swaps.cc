#include "tests/tuner/found_swaps.h"

#include <utility>

#include "tuner/search/edit_for_swaps.h"

namespace spillway::testing {

std::vector<size_t> MovableGaps(const StepModel& model) {
  std::vector<size_t> gaps;
  for (size_t i = 0; i < model.gaps.size(); ++i) {
    if (model.gaps[i].is_movable) gaps.push_back(i);
  }
  return gaps;
}

MovedGaps ChoiceOf(const StepModel& model, const std::vector<size_t>& gaps,
                   uint64_t bits) {
  MovedGaps moved(model.gaps.size(), 0);
  for (size_t i = 0; i < gaps.size(); ++i) {
    moved[gaps[i]] = static_cast<char>(bits >> i & 1);
  }
  return moved;
}

FoundSwaps FoundFor(const StepModel& model, MovedGaps moved,
                    std::vector<int32_t> back_after) {
  FoundSwaps found = {.moved = std::move(moved)};
  found.played.fits = true;
  found.played.back_after = std::move(back_after);
  found.played.stall_ns.resize(model.gaps.size());
  found.played.step_ran_ns.resize(model.steps.size());
  found.played.copy_out_ran_ns.resize(model.copies.size());
  found.played.copy_in_ran_ns.resize(model.gaps.size());
  return found;
}

std::vector<int32_t> SomeReturns(const StepModel& model, const MovedGaps& moved,
                                 std::mt19937_64& random) {
  std::vector<int32_t> back_after(moved.size(), -1);
  for (size_t i = 0; i < moved.size(); ++i) {
    const Gap& gap = model.gaps[i];
    if (moved[i] == 0) continue;
    back_after[i] =
        gap.last + 1 +
        static_cast<int32_t>(Below(random, gap.next - gap.last - 1));
  }
  return back_after;
}

StepRecipe RecipeFor(const TunerCase& tuner_case, const StepModel& model,
                     const FoundSwaps& found) {
  SwapEdit edit = EditForSwaps(tuner_case.graph, tuner_case.ops,
                               tuner_case.schedule, model, found);
  return {.name = "by hand",
          .swaps = std::move(edit.swaps),
          .schedule = std::move(edit.schedule)};
}

}  // namespace spillway::testing
