// Choices of gaps, and of the places of the copies back, that no search made.
#ifndef SPILLWAY_TESTS_TUNER_FOUND_SWAPS_H_
#define SPILLWAY_TESTS_TUNER_FOUND_SWAPS_H_

#include <cstdint>
#include <vector>

#include "tests/tuner/tuner_case.h"
#include "tuner/model/step_model.h"
#include "tuner/model/step_recipe.h"
#include "tuner/search/swap_search.h"

namespace spillway::testing {

// The gaps that can be moved.
std::vector<size_t> MovableGaps(const StepModel& model);

// The `bits` of `gaps` as a choice of them.
MovedGaps ChoiceOf(const StepModel& model, const std::vector<size_t>& gaps,
                   uint64_t bits);

// With the copy back of each gap right after the step that `back_after` says
// for it (-1 where it is not moved); without times.
FoundSwaps FoundFor(const StepModel& model, MovedGaps moved,
                    std::vector<int32_t> back_after);

// One step of each moved gap, at random; -1 for the others.
std::vector<int32_t> SomeReturns(const StepModel& model, const MovedGaps& moved,
                                 std::mt19937_64& random);

// What EditForSwaps makes of it; without expected times.
StepRecipe RecipeFor(const TunerCase& tuner_case, const StepModel& model,
                     const FoundSwaps& found);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TUNER_FOUND_SWAPS_H_
