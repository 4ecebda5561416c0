// Finds the smallest device memory with which tuning succeeds, for the error
// message of a step that does not fit.
#ifndef SPILLWAY_TUNER_SEARCH_SMALLEST_BUDGET_H_
#define SPILLWAY_TUNER_SEARCH_SMALLEST_BUDGET_H_

#include <optional>

#include "executor/plan/memory_shortage.h"
#include "tuner/model/evaluate.h"
#include "tuner/model/kernel_algorithms.h"
#include "tuner/search/tune_swaps.h"

namespace spillway {

// Call this if TuneAlgorithms found nothing within the budget of
// inputs.compile. Returns the smallest budget with which it succeeds, and the
// predicted time of that step. Found by bisection to 1 %: a heuristic, since
// smaller budgets may fit where larger ones do not. nullopt if tuning also
// fails without a budget. Takes about ten times as long as one call of
// TuneAlgorithms. When options.stop returns true, returns the smallest budget
// known so far.
std::optional<MemoryShortage> FindSmallestBudget(const TunerInputs& inputs,
                                                 const KnownAlgorithms& known,
                                                 const TunerOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_SMALLEST_BUDGET_H_
