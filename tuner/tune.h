// The auto-tuner for users: how to run a step in the memory there is, chosen by
// predicted time before anything runs.
//
//   SPILLWAY_ASSIGN_OR_RETURN(const TuneResult tuned, Tune(
//       {.graph = graph, .fetches = {loss}}, {.device_memory = 2_GiB}));
//   SPILLWAY_RETURN_IF_ERROR(SavePlan(tuned, graph, "step.plan.json"));
//
// The search itself is in tuner/search.
#ifndef SPILLWAY_TUNER_TUNE_H_
#define SPILLWAY_TUNER_TUNE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/plan/floor.h"
#include "executor/session/session.h"
#include "graph/graph.h"
#include "lms/tflms/search.h"
#include "simulator/device_profile.h"
#include "tuner/prepare_step.h"
#include "tuner/saved_plan.h"
#include "tuner/search/tune_swaps.h"
#include "tuner/step_options.h"

namespace spillway {

struct TuneResult {
  TunedStep step = {};  // what was chosen and tried, and the lower bound
  std::vector<ValueId> fetches = {};
  StepOptions options = {};    // as given, with the budgets that were tuned for
  DeviceProfile profile = {};  // that predictions go by
  MemoryFloor floor = {};      // of the graph without swaps
  std::string floor_node = {};   // its name; empty: there is none
  int64_t tuning_ns = 0;         // measured
  std::string fingerprint = {};  // of the graph (tuner/saved_plan.h)
};

// `program`: without swaps, order and algorithms. With options.lms of mode kOff
// only the step without swaps is tried; kV1 and kV2: that set, or the sets that
// differ in the numbers that are -1. A profile that is named is a machine: its
// memory is the budget, unless there is another. Nothing runs. Errors:
// RESOURCE_EXHAUSTED if nothing that was tried fits, with the smallest budget
// that does (tuner/search/smallest_budget.h); CANCELLED if options.stop ended
// the search before anything fitted; INVALID_ARGUMENT naming the option.
absl::StatusOr<TuneResult> Tune(const Program& program,
                                const StepOptions& options);

// TFLMS's own choice, judged by our planner and simulator, for comparison.
// TuneResult::step.tried are the sets of its search with the bytes that it
// predicted; no times. Errors: RESOURCE_EXHAUSTED where its search finds
// nothing, or what it finds does not fit; CANCELLED if options.stop ended its
// search, which has no best so far.
absl::StatusOr<TuneResult> TuneAsTflms(const Program& program,
                                       const StepOptions& options,
                                       const TflmsRequest& request);

// Tells options.log, if there is one, what was chosen and why.
void LogChoice(const StepOptions& options, const TunedStep& tuned);

// What was chosen, to be saved (tuner/saved_plan.h) or run
// (StepOptions::plan).
SavedPlan PlanOf(const TuneResult& result);

// As a file for LoadPlan and --plan (docs/plan_file.md). `graph`: the one that
// was tuned, without swaps. Errors: as FormatSavedPlan and WriteFileAtomically.
absl::Status SavePlan(const TuneResult& result, const Graph& graph,
                      const std::string& path);

// --- For choose_step.h and simulate.h ---

// A step whose budgets and profile are settled. Everything pointed to is
// borrowed.
struct TuningSpec {
  const Graph* graph = nullptr;  // without swaps
  std::vector<ValueId> fetches = {};
  const StepOptions* options = nullptr;  // with the budget to be met
  const DeviceProfile* profile = nullptr;
  // Of the device's memory for what is not this step's: named in errors beside
  // the budget, which is without it.
  int64_t reserved_bytes = 0;
  // An error shall name the smallest budget that does, which takes time.
  bool finds_smallest_budget = true;
};

// Errors: as PreparePlan, TuneSwaps and Tune, or as TuneAsTflms.
absl::StatusOr<TunedStep> TuneStep(const TuningSpec& spec);
absl::StatusOr<TunedStep> TuneStepAsTflms(const TuningSpec& spec,
                                          const TflmsRequest& request);

// The lower bound for the order of kernels and the budget in `inputs`, which
// are those of `original` or of that graph with swaps, whatever algorithms the
// kernels take.
StepTimeBound BoundFor(const Graph& original, const PlanInputs& inputs,
                       const OpRegistry& ops, const DeviceProfile& profile);

// The budget for a step on the machine of `options`: device_memory; else the
// memory of a profile that was named; else none.
std::optional<int64_t> BudgetFor(const StepOptions& options,
                                 const DeviceProfile& profile);

// The limit of the swap pool on that machine: host_memory; else half of the
// host memory of a profile that was named and has one; else none, which is half
// of this machine's.
std::optional<int64_t> HostBudgetFor(const StepOptions& options,
                                     const DeviceProfile& profile);

// BudgetFor, or else what is free on the device. Errors: as DeviceBudget.
absl::StatusOr<int64_t> TuningBudget(const StepOptions& options,
                                     const DeviceProfile& profile);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_TUNE_H_
