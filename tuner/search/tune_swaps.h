// The auto-tuner: of all ways to run a step within its budgets, chooses the one
// with the least predicted time.
//
// If the step fits without swaps, nothing is swapped. Else the tuner chooses
// for each tensor whether it is kept, swapped or recomputed
// (fate_candidates.h), if inputs.choices allows it. Then it searches for swaps
// alone (swap_search.h), unless their bound proves them slower. Both run under
// several budgets slightly below the given one, since buffers cannot always be
// placed without holes. It also tries sets of TFLMS options. For small graphs
// it repeats all of this within a ladder of smaller budgets. Every candidate is
// compiled, verified and simulated before it can be chosen: the tuner assumes
// nothing about how an option changes time or memory. Runs nothing.
// Deterministic.
#ifndef SPILLWAY_TUNER_SEARCH_TUNE_SWAPS_H_
#define SPILLWAY_TUNER_SEARCH_TUNE_SWAPS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/stop_request.h"
#include "lms/options.h"
#include "tuner/bound/lower_bound.h"
#include "tuner/fates/fate_candidates.h"
#include "tuner/model/evaluate.h"
#include "tuner/search/search_effort.h"

namespace spillway {

struct TriedSet;

struct TunerOptions {
  // What the sets of TFLMS options have in common: size threshold, scopes,
  // types. Mode kAuto: tries everything. kV1: tries this set. kV2: tries the
  // sets that vary the numbers that are -1. kOff: no swaps.
  LmsOptions lms = {.mode = LmsMode::kAuto};
  // Called often, but not before the first candidate; true ends the search with
  // the best so far. Empty: never. If it depends on a clock, so does the
  // choice.
  StopRequest stop = {};
  // Called with each candidate when it is tried; null: not called.
  std::function<void(const TriedSet& tried)> on_tried = {};
  SearchEffort effort = SearchEffort::kNormal;
  // Borrowed; null: none. FateCandidates::start.
  const FateChoice* start = nullptr;
  // Ends the search at the first candidate that fits, with the kernels'
  // smallest workspaces.
  bool takes_first = false;
};

// One candidate, as it was tried.
struct TriedSet {
  std::string name = {};
  LmsOptions options = {};  // mode kOff: not a set of TFLMS
  bool fits = false;
  std::string reason = {};  // why not
  int64_t device_bytes = 0;
  int64_t host_bytes = 0;
  int64_t step_ns = 0;
};

TriedSet ToTriedSet(const StepRecipe& recipe,
                    const absl::StatusOr<EvaluatedRecipe>& evaluated);

struct TunedStep {
  bool is_necessary = false;  // to swap
  std::string reason = {};    // one line: the reason for this choice
  // StepOptions::stop ended the search: an untried candidate might be better.
  bool interrupted = false;
  EvaluatedRecipe chosen = {};
  // For the chosen order of kernels.
  StepTimeBound bound = {};
  ClassBounds class_bounds = {};     // only TuneAlgorithms sets them
  std::vector<TriedSet> tried = {};  // in order
};

// Errors: RESOURCE_EXHAUSTED if no tried candidate fits, with the shortage of
// the last one; INVALID_ARGUMENT for options out of their range.
absl::StatusOr<TunedStep> TuneSwaps(const TunerInputs& inputs,
                                    const TunerOptions& options);

// "`why`: peak 3.2 GiB of 4.0 GiB".
std::string ReasonFor(std::string_view why, const ExecutionPlan& plan,
                      const TunerInputs& inputs);

// The bound for the recipe's order of kernels, for every choice of swaps and,
// as far as inputs.choices allows, of clones.
StepTimeBound BoundOf(const TunerInputs& inputs, const StepRecipe& recipe);

ClassBounds ClassBoundsOf(const TunerInputs& inputs, const StepRecipe& recipe);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_TUNE_SWAPS_H_
