// The tuner (tuner/tuner.h), asked from the command line's flags.
#ifndef SPILLWAY_TOOLS_SPILLWAY_TUNING_H_
#define SPILLWAY_TOOLS_SPILLWAY_TUNING_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "lms/options.h"
#include "lms/tflms/search.h"
#include "simulator/device_profile.h"
#include "tools/spillway/device_flags.h"
#include "tools/spillway/step_plan.h"
#include "tuner/tuner.h"

namespace spillway {

// A step to be tuned. Everything pointed to is borrowed.
struct TuningSpec {
  const Graph* graph = nullptr;  // without swaps
  std::vector<ValueId> fetches = {};
  const DeviceFlags* device = nullptr;
  MemoryFlags memory = {};  // the budgets
  LmsOptions lms = {};      // see TunerOptions
  const DeviceProfile* profile = nullptr;
  std::optional<double> time_limit = {};  // seconds
};

// Errors: as PreparePlan and Tune.
absl::StatusOr<TunedStep> TuneStep(const TuningSpec& spec);

// TFLMS's own choice, judged by our planner and simulator. `tried` are the sets
// of its search with the bytes that it predicted; no times. Errors:
// RESOURCE_EXHAUSTED where its search finds nothing, or what it finds does not
// fit.
absl::StatusOr<TunedStep> TuneAsTflms(const TuningSpec& spec,
                                      const TflmsRequest& request);

// The lower bound for the order of kernels and the budget in `inputs`, which
// are those of `original` or of that graph with swaps, whatever algorithms the
// kernels take.
StepTimeBound BoundFor(const Graph& original, const PlanInputs& inputs,
                       const DeviceProfile& profile);

// The budget that is to be met: the flag's, or what is free on the device.
absl::StatusOr<int64_t> DeviceBudget(const DeviceFlags& device,
                                     const MemoryFlags& memory);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_TUNING_H_
