#include "tools/spillway/bench_setup.h"

#include <chrono>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "executor/plan_programs.h"
#include "tools/spillway/lms_flags.h"
#include "tools/spillway/model_graph.h"

namespace spillway {
namespace {

ModelGraphSpec SpecFor(const BenchFlags& flags) {
  return {.model = flags.model.model,
          .options = {.batch_size = flags.model.batch_size,
                      .image_size = flags.model.image_size,
                      .num_classes = flags.num_classes,
                      .dtype = ActivationDType(flags.model),
                      .auxiliary_head = flags.model.auxiliary_head},
          .passes = flags.model.passes};
}

absl::StatusOr<StepGraph> BuildStep(const BenchFlags& flags) {
  const ModelGraphSpec spec = SpecFor(flags);
  absl::StatusOr<StepGraph> step =
      flags.forward_only ? BuildEvaluationGraph(spec)
                         : BuildTrainingGraph(spec, flags.optimizer);
  if (!step.ok()) return Annotate(step.status(), "--model");
  return step;
}

std::vector<Program> ProgramOf(const BenchFlags& flags, const StepGraph& step) {
  std::vector<Program> programs(1);
  programs[0] = {.graph = step.graph, .fetches = {step.model.loss.id()}};
  if (flags.shows_accuracy()) {
    programs[0].fetches.push_back(step.model.accuracy.id());
    programs[0].fetches.push_back(step.model.top_5_accuracy.id());
  }
  return programs;
}

// Time that planning takes. Errors: what does not fit, before the images of a
// step that cannot run were made.
absl::StatusOr<int64_t> MeasurePlanning(std::vector<Program> programs,
                                        DeviceKind kind,
                                        const SessionOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(PlanPrograms(std::move(programs), kind, options).status());
  const std::chrono::nanoseconds taken =
      std::chrono::steady_clock::now() - begin;
  return taken.count();
}

}  // namespace

absl::StatusOr<BenchSetup> SetUpBench(const BenchFlags& flags) {
  BenchSetup setup;
  ASSIGN_OR_RETURN(StepGraph step, BuildStep(flags));
  setup.model = step.model;
  setup.learning_rate = step.base_rate;
  setup.parameters = CountParameters(step.graph);
  ASSIGN_OR_RETURN(setup.edit, EditGraph(flags.lms, step.graph));
  ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                   OpenDevice(flags.device, flags.memory));
  setup.device = device->name();
  const SessionOptions options =
      MakeSessionOptions(flags.device, flags.memory, flags.seed);
  ASSIGN_OR_RETURN(setup.plan_ns, MeasurePlanning(ProgramOf(flags, step),
                                                  device->kind(), options));
  setup.feeds.emplace(step.graph, step.model,
                      static_cast<uint64_t>(flags.seed));
  ASSIGN_OR_RETURN(setup.session, Session::Create(ProgramOf(flags, step),
                                                  std::move(device), options));
  return setup;
}

}  // namespace spillway
