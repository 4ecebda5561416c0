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

absl::StatusOr<StepGraph> BuildStep(const BenchFlags& flags) {
  ModelGraphSpec spec = SpecOf(flags.model);
  spec.options.num_classes = flags.num_classes;
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
  const auto begin = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(
      PlannedPrograms planned,
      PlanPrograms(ProgramOf(flags, step), device->kind(), options));
  const std::chrono::nanoseconds taken =
      std::chrono::steady_clock::now() - begin;
  setup.plan_ns = taken.count();
  ASSIGN_OR_RETURN(setup.session, CreateSession(std::move(planned),
                                                std::move(device), options));
  // After that: images of a step that does not fit are not made.
  setup.feeds.emplace(step.graph, step.model,
                      static_cast<uint64_t>(flags.seed));
  setup.graph = std::move(step.graph);
  return setup;
}

}  // namespace spillway
