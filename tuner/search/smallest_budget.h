// How little device memory tuning can do with, for the error of a step that
// does not fit.
#ifndef SPILLWAY_TUNER_SEARCH_SMALLEST_BUDGET_H_
#define SPILLWAY_TUNER_SEARCH_SMALLEST_BUDGET_H_

#include <optional>

#include "executor/plan/memory_shortage.h"
#include "tuner/model/evaluate.h"
#include "tuner/model/kernel_algorithms.h"
#include "tuner/search/tune_swaps.h"

namespace spillway {

// For a budget (inputs.compile's) within which TuneAlgorithms found nothing:
// the smallest with which it succeeds, and the predicted time of that step.
// Found by bisection to 1 %, since budgets in between may fit or not. None if
// it fails without a budget too. Takes about ten times as long as one call of
// TuneAlgorithms. When options.stop answers true, it ends with the smallest
// that it knows of.
std::optional<MemoryShortage> FindSmallestBudget(const TunerInputs& inputs,
                                                 const KnownAlgorithms& known,
                                                 const TunerOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_SMALLEST_BUDGET_H_
