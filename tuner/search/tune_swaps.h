// The auto-tuner: of all ways to run a step within its budgets, the one with
// the least predicted time.
//
// If the step fits without swaps, nothing is swapped. Else it searches the
// tensors to move one by one (swap_search.h) under several budgets somewhat
// below the given one, since buffers cannot always be placed without holes, and
// tries sets of TFLMS's options beside them; for small graphs, all of it within
// a ladder of smaller budgets too. Every candidate is compiled,
// verified and simulated before it can be chosen; nothing is assumed of how
// time or memory change with an option. Nothing runs; the same inputs give the
// same choice.
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
#include "tuner/model/evaluate.h"

namespace spillway {

struct TriedSet;

struct TunerOptions {
  // What the sets of TFLMS's options have in common: size threshold, scopes,
  // types. Mode kAuto: everything is tried. kV1: this set is. kV2: the sets
  // that differ in the numbers that are -1 are. kOff: no swaps.
  LmsOptions lms = {.mode = LmsMode::kAuto};
  // Asked before each candidate but the first; true ends the search with what
  // was found. Empty: never. Where it depends on a clock, so does the choice.
  StopRequest stop = {};
  // Called with each candidate as it is tried; null: nobody.
  std::function<void(const TriedSet& tried)> on_tried = {};
  // Ends the search with the first candidate that fits, of kernels with the
  // smallest workspaces.
  bool takes_first = false;
};

// One candidate, as it was tried.
struct TriedSet {
  std::string name = {};
  LmsOptions options = {};  // mode kOff: it is none of TFLMS's
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
  std::string reason = {};    // one line: why this choice
  // StepOptions::stop ended the search: others might have been better.
  bool interrupted = false;
  EvaluatedRecipe chosen = {};
  // For the order of kernels that was chosen.
  StepTimeBound bound = {};
  std::vector<TriedSet> tried = {};  // in order
};

// Errors: RESOURCE_EXHAUSTED if nothing that was tried fits, with what the last
// candidate lacked; INVALID_ARGUMENT for options out of their range.
absl::StatusOr<TunedStep> TuneSwaps(const TunerInputs& inputs,
                                    const TunerOptions& options);

// "`why`: peak 3.2 GiB of 4.0 GiB".
std::string ReasonFor(std::string_view why, const ExecutionPlan& plan,
                      const TunerInputs& inputs);

// The bound for the kernels' order in a recipe.
StepTimeBound BoundOf(const TunerInputs& inputs, const StepRecipe& recipe);

// A set of TFLMS's options as a recipe, nodes in the order that saves memory.
absl::StatusOr<StepRecipe> RecipeOf(const TunerInputs& inputs,
                                    const LmsOptions& options);

// "v1 chain_rule lb 1 ub 10000", "v2 threshold 3 ahead 1 groupby 0 sync 0".
std::string DescribeOptions(const LmsOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_TUNE_SWAPS_H_
