#include "tools/spillway/bench_setup.h"

#include <chrono>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "executor/plan_programs.h"
#include "tools/spillway/chosen_step.h"
#include "tools/spillway/model_graph.h"
#include "tools/spillway/profile_files.h"
#include "tools/spillway/step_timing.h"

namespace spillway {
namespace {

absl::StatusOr<StepGraph> BuildStep(const BenchFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(const PassTarget target,
                            PassTargetOf(flags.device));
  ModelGraphSpec spec = SpecOf(flags.model, target);
  spec.options.num_classes = flags.num_classes;
  absl::StatusOr<StepGraph> step =
      flags.forward_only ? BuildEvaluationGraph(spec)
                         : BuildTrainingGraph(spec, flags.optimizer);
  if (!step.ok()) return Annotate(step.status(), "--model");
  return step;
}

std::vector<ValueId> FetchesOf(const BenchFlags& flags, const StepGraph& step) {
  std::vector<ValueId> fetches = {step.model.loss.id()};
  if (flags.shows_accuracy()) {
    fetches.push_back(step.model.accuracy.id());
    fetches.push_back(step.model.top_5_accuracy.id());
  }
  return fetches;
}

}  // namespace

absl::StatusOr<BenchSetup> SetUpBench(const BenchFlags& flags) {
  BenchSetup setup;
  SPILLWAY_RETURN_IF_ERROR(CheckPrecision(flags.model, flags.device));
  SPILLWAY_ASSIGN_OR_RETURN(setup.profile,
                            ResolveProfile(flags.profile, flags.device));
  SPILLWAY_ASSIGN_OR_RETURN(StepGraph step, BuildStep(flags));
  setup.model = step.model;
  setup.learning_rate = step.base_rate;
  setup.loss_scale = step.loss_scale;
  setup.parameters = CountParameters(step.graph);
  SPILLWAY_ASSIGN_OR_RETURN(ChosenStep chosen,
                            ChooseStep({.graph = &step.graph,
                                        .fetches = FetchesOf(flags, step),
                                        .lms = flags.lms,
                                        .plan = flags.plan,
                                        .profile = flags.profile,
                                        .device = flags.device,
                                        .memory = flags.memory}));
  setup.edit = chosen.edit;
  setup.lms = chosen.lms;
  setup.recipe = chosen.name;
  setup.algorithms = chosen.algorithms;
  setup.memory = chosen.memory;
  setup.graph = chosen.graph;
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                            OpenDevice(flags.device, setup.memory));
  setup.device = device->name();
  const SessionOptions options =
      MakeSessionOptions(flags.device, setup.memory, flags.seed);
  std::vector<Program> programs;
  programs.push_back(ProgramOf(std::move(chosen)));
  const auto begin = std::chrono::steady_clock::now();
  SPILLWAY_ASSIGN_OR_RETURN(
      PlannedPrograms planned,
      PlanPrograms(std::move(programs), device->kind(), options));
  const std::chrono::nanoseconds taken =
      std::chrono::steady_clock::now() - begin;
  setup.plan_ns = taken.count();
  const PlannedProgram& program = planned.programs.front();
  setup.predicted_step_ns =
      PlayStep(program.graph, program.plan, setup.algorithms, setup.profile)
          .step_ns;
  SPILLWAY_ASSIGN_OR_RETURN(
      setup.session,
      CreateSession(std::move(planned), std::move(device), options));
  // After that: images of a step that does not fit are not made.
  setup.feeds.emplace(setup.graph, step.model,
                      static_cast<uint64_t>(flags.seed), setup.session.get());
  return setup;
}

}  // namespace spillway
