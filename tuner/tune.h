// The auto-tuner for users: chooses how to run a step in the available memory,
// by predicted time, before anything runs.
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
#include <string_view>
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
  TunedStep step = {};  // the chosen step, all tried ones, and the lower bound
  std::vector<ValueId> fetches = {};
  StepOptions options = {};      // as given, with the budgets tuned for
  DeviceProfile profile = {};    // used for predictions
  MemoryFloor floor = {};        // of the graph without swaps
  std::string floor_node = {};   // its name; empty: no node
  int64_t tuning_ns = 0;         // measured
  std::string fingerprint = {};  // of the graph (tuner/saved_plan.h)
};

// `program`: without swaps, order and algorithms. With options.lms of mode
// kOff, only the step without swaps is tried; kV1: that set; kV2: the sets that
// vary the numbers that are -1. A named profile stands for a machine: its
// memory is the budget, unless another budget is given. Runs nothing. Errors:
// RESOURCE_EXHAUSTED if no tried candidate fits, with the smallest budget that
// does (tuner/search/smallest_budget.h); CANCELLED if options.stop ended the
// search before any candidate fitted; INVALID_ARGUMENT naming the option.
absl::StatusOr<TuneResult> Tune(const Program& program,
                                const StepOptions& options);

// TFLMS's own choice, planned and simulated by Spillway, for comparison.
// TuneResult::step.tried has the sets of its search with the bytes that it
// predicted, but no times. Errors: RESOURCE_EXHAUSTED if its search finds
// nothing, or its choice does not fit; CANCELLED if options.stop ended its
// search, which has no best so far.
absl::StatusOr<TuneResult> TuneAsTflms(const Program& program,
                                       const StepOptions& options,
                                       const TflmsRequest& request);

// The plan of a classic policy (tuner/policies/policies.h), for comparison; its
// bound is that of its class. Errors: RESOURCE_EXHAUSTED if the policy does not
// fit; INVALID_ARGUMENT if it makes no plan, or none has this name.
absl::StatusOr<TuneResult> TuneAsPolicy(const Program& program,
                                        const StepOptions& options,
                                        std::string_view policy);

// Logs the choice and its reason to options.log, if set.
void LogChoice(const StepOptions& options, const TunedStep& tuned);

// The chosen plan, to save (tuner/saved_plan.h) or to run (StepOptions::plan).
SavedPlan PlanOf(const TuneResult& result);

// Writes a file for LoadPlan and --plan (docs/plan_file.md). `graph`: the tuned
// one, without swaps. Errors: as FormatSavedPlan and WriteFileAtomically.
absl::Status SavePlan(const TuneResult& result, const Graph& graph,
                      const std::string& path);

// --- For choose_step.h and simulate.h ---

// A step whose budgets and profile are settled. Borrows everything pointed to.
struct TuningSpec {
  const Graph* graph = nullptr;  // without clones and swaps
  std::vector<ValueId> fetches = {};
  const StepOptions* options = nullptr;  // with the budget for the tuner
  const DeviceProfile* profile = nullptr;
  // The device memory for everything but this step: errors name it in addition
  // to the budget, which does not include it.
  int64_t reserved_bytes = 0;
  // Whether an error names the smallest budget that fits, which takes time.
  bool finds_smallest_budget = true;
  // Borrowed; null: none. TunerOptions::start.
  const FateChoice* start = nullptr;
};

// Errors: as PreparePlan, TuneSwaps and Tune, or as TuneAsTflms.
absl::StatusOr<TunedStep> TuneStep(const TuningSpec& spec);
absl::StatusOr<TunedStep> TuneStepAsTflms(const TuningSpec& spec,
                                          const TflmsRequest& request);

// The lower bound for the order of kernels and the budget in `inputs`, for
// every choice of algorithms, of swaps and, if `choices` is not null, of
// clones. `inputs` belongs to `original` or to that graph with clones and
// swaps.
StepTimeBound BoundFor(const Graph& original, const PlanInputs& inputs,
                       const OpRegistry& ops, const DeviceProfile& profile,
                       const RecomputeChoices* choices = nullptr);

// The budget for a step on the machine of `options`: device_memory; else the
// memory of a named profile; else nullopt.
std::optional<int64_t> BudgetFor(const StepOptions& options,
                                 const DeviceProfile& profile);

// The limit of the swap pool on that machine: host_memory; else half of the
// host memory of a named profile that has it; else nullopt, which means half of
// this machine's.
std::optional<int64_t> HostBudgetFor(const StepOptions& options,
                                     const DeviceProfile& profile);

// BudgetFor, else the free memory of the device. Errors: as DeviceBudget.
absl::StatusOr<int64_t> TuningBudget(const StepOptions& options,
                                     const DeviceProfile& profile);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_TUNE_H_
