// Choices of gaps, and of the positions of copies back, without a search.
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

// Each gap's copy back is right after the step in `back_after` (-1: not moved).
// Has no times.
FoundSwaps FoundFor(const StepModel& model, MovedGaps moved,
                    std::vector<int32_t> back_after);

// A random step within each moved gap; -1 for the others.
std::vector<int32_t> SomeReturns(const StepModel& model, const MovedGaps& moved,
                                 std::mt19937_64& random);

// The recipe from EditForSwaps; has no expected times.
StepRecipe RecipeFor(const TunerCase& tuner_case, const StepModel& model,
                     const FoundSwaps& found);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TUNER_FOUND_SWAPS_H_
