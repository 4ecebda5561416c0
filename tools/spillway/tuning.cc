#include "tools/spillway/tuning.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "executor/device/device.h"
#include "fmt/format.h"
#include "graph/schedule.h"
#include "lms/tflms/report.h"
#include "ops/all_ops.h"
#include "ops/open_libraries.h"
#include "simulator/cost_model.h"
#include "tuner/tune_algorithms.h"

namespace spillway {
namespace {

// Owns what TunerInputs borrows.
class Preparation {
 public:
  absl::Status Prepare(const TuningSpec& spec) {
    const OpRegistry& ops = StandardOps();
    MemoryFlags memory = spec.memory;
    memory.schedule = "creation";  // the tuner chooses
    SPILLWAY_ASSIGN_OR_RETURN(plan_, PreparePlan({.graph = spec.graph,
                                                  .fetches = spec.fetches,
                                                  .device = spec.device,
                                                  .memory = memory,
                                                  .profile = spec.profile}));
    if (!spec.device->chooses_algorithms()) plan_.algorithms = {};
    keep_ = NodesToRun(*spec.graph, ops, spec.fetches);
    kernel_ns_ = EstimateKernelTimes(*spec.graph, ops, *spec.profile);
    return absl::OkStatus();
  }

  const KnownAlgorithms& algorithms() const { return plan_.algorithms; }
  TunerInputs Inputs(const TuningSpec& spec) const {
    return {.graph = *spec.graph,
            .ops = StandardOps(),
            .keep = keep_,
            .compile = plan_.options,
            .kernel_ns = kernel_ns_,
            .profile = *spec.profile};
  }

 private:
  PlanInputs plan_;
  IdMap<NodeId, bool> keep_;
  IdMap<NodeId, int64_t> kernel_ns_;
};

std::function<bool()> StopAfter(std::optional<double> seconds) {
  if (!seconds) return nullptr;
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(*seconds));
  return [end] { return Clock::now() >= end; };
}

TriedSet ToTriedSet(const TflmsTrial& trial, const LmsOptions& common) {
  TriedSet tried;
  tried.options = WithSet(common, trial.set);
  tried.name = DescribeOptions(tried.options);
  tried.fits = trial.accepted;
  if (!trial.accepted) tried.reason = "TFLMS's simulator: does not fit";
  tried.device_bytes = trial.play.peak_device_bytes;
  tried.host_bytes = trial.play.peak_host_bytes;
  return tried;
}

}  // namespace

absl::StatusOr<TunedStep> TuneStep(const TuningSpec& spec) {
  Preparation preparation;
  SPILLWAY_RETURN_IF_ERROR(preparation.Prepare(spec));
  return TuneAlgorithms(preparation.Inputs(spec), preparation.algorithms(),
                        {.lms = spec.lms, .stop = StopAfter(spec.time_limit)});
}

absl::StatusOr<TunedStep> TuneAsTflms(const TuningSpec& spec,
                                      const TflmsRequest& request) {
  SPILLWAY_ASSIGN_OR_RETURN(const TflmsResult found,
                            SearchTflms(request, *spec.graph));
  for (const std::string& line : TflmsLogLines(found)) {
    fmt::print(stderr, "{}\n", line);
  }
  SPILLWAY_RETURN_IF_ERROR(found.status);
  Preparation preparation;
  SPILLWAY_RETURN_IF_ERROR(preparation.Prepare(spec));
  const TunerInputs inputs = preparation.Inputs(spec);
  SPILLWAY_ASSIGN_OR_RETURN(const StepRecipe recipe,
                            RecipeOf(inputs, found.options));
  TunedStep tuned;
  tuned.is_necessary = found.necessary;
  tuned.reason = found.passed ? "what TFLMS's search chooses"
                              : "what TFLMS's search chooses, though its "
                                "simulator says that it does not fit";
  for (const TflmsTrial& trial : found.tried) {
    tuned.tried.push_back(ToTriedSet(trial, found.options));
  }
  SPILLWAY_ASSIGN_OR_RETURN(tuned.chosen, Evaluate(inputs, recipe));
  tuned.bound = BoundOf(inputs, tuned.chosen.recipe);
  return tuned;
}

StepTimeBound BoundFor(const Graph& original, const PlanInputs& inputs,
                       const DeviceProfile& profile) {
  const IdMap<NodeId, bool> keep;
  const IdMap<NodeId, int64_t> kernel_ns =
      EstimateKernelTimes(original, StandardOps(), profile);
  return BoundOfAny({.graph = original,
                     .ops = StandardOps(),
                     .keep = keep,
                     .compile = inputs.options,
                     .kernel_ns = kernel_ns,
                     .profile = profile},
                    inputs.algorithms, {.schedule = inputs.schedule});
}

absl::StatusOr<int64_t> DeviceBudget(const DeviceFlags& device,
                                     const MemoryFlags& memory) {
  if (memory.device_memory) return *memory.device_memory;
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> opened,
                            OpenDevice(device, MemoryFlags{}));
  SPILLWAY_RETURN_IF_ERROR(OpenKernelLibraries(opened->kind()));
  return opened->FreeBytes();
}

}  // namespace spillway
