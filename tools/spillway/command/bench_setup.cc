#include "tools/spillway/command/bench_setup.h"

#include <chrono>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "executor/session/plan_programs.h"
#include "tools/spillway/model_graph.h"
#include "tuner/choose_step.h"
#include "tuner/profile/resolve_profile.h"
#include "tuner/simulate.h"

namespace spillway {
namespace {

absl::StatusOr<ModelGraphSpec> ReadModel(const BenchFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(const PassTarget target, PassTargetOf(flags.step));
  absl::StatusOr<ModelGraphSpec> spec = SpecOf(flags.model, target);
  if (!spec.ok()) return Annotate(spec.status(), SourceFlagOf(flags.model));
  spec->options.num_classes = flags.num_classes;
  return spec;
}

absl::StatusOr<StepGraph> BuildStep(const BenchFlags& flags,
                                    const ModelGraphSpec& spec) {
  absl::StatusOr<StepGraph> step =
      flags.forward_only ? BuildEvaluationGraph(spec)
                         : BuildTrainingGraph(spec, flags.optimizer);
  if (!step.ok()) return Annotate(step.status(), SourceFlagOf(flags.model));
  return step;
}

std::vector<ValueId> FetchesOf(const BenchFlags& flags, const StepGraph& step) {
  if (!flags.shows_accuracy()) {
    return step.model.loss.is_valid() ? std::vector{step.model.loss.id()}
                                      : LossFetchesOf(step.model);
  }
  std::vector<ValueId> fetches = LossFetchesOf(step.model);
  fetches.push_back(step.model.top_5_accuracy.id());
  return fetches;
}

}  // namespace

absl::StatusOr<BenchSetup> SetUpBench(const BenchFlags& flags) {
  BenchSetup setup;
  SPILLWAY_RETURN_IF_ERROR(CheckPrecision(flags.model, flags.step));
  SPILLWAY_ASSIGN_OR_RETURN(setup.profile, ResolveProfile(flags.step));
  SPILLWAY_ASSIGN_OR_RETURN(const ModelGraphSpec model, ReadModel(flags));
  SPILLWAY_ASSIGN_OR_RETURN(StepGraph step, BuildStep(flags, model));
  setup.model = step.model;
  setup.learning_rate = step.base_rate;
  setup.loss_scale = step.loss_scale;
  setup.parameters = CountParameters(step.graph);
  StepOptions options = flags.step;
  options.seed = static_cast<uint64_t>(flags.seed);
  options.warns_of_profile = false;
  Program program = {.graph = std::move(step.graph),
                     .fetches = FetchesOf(flags, step)};
  SPILLWAY_ASSIGN_OR_RETURN(setup.placement,
                            PlaceProgram(flags.place, options, program));
  SavedPlan plan;
  SPILLWAY_RETURN_IF_ERROR(
      ReadPlanFlag(flags.plan, program.graph, plan, options));
  SPILLWAY_ASSIGN_OR_RETURN(ChosenStep chosen,
                            ChooseStep({.graph = &program.graph,
                                        .fetches = program.fetches,
                                        .options = options}));
  if (!flags.report.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(
        setup.bound, BoundOfChosen(program.graph, chosen, setup.profile));
  }
  setup.edit = chosen.edit;
  setup.lms = chosen.lms;
  setup.recipe = chosen.name;
  setup.search = chosen.search;
  setup.algorithms = chosen.algorithms;
  setup.options = chosen.options;
  setup.graph = chosen.graph;
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                            OpenDevice(setup.options, chosen.device_limit));
  setup.device = device->name();
  const SessionOptions session = SessionOptionsOf(setup.options);
  std::vector<Program> programs;
  programs.push_back(ProgramOf(std::move(chosen)));
  const auto begin = std::chrono::steady_clock::now();
  SPILLWAY_ASSIGN_OR_RETURN(
      PlannedPrograms planned,
      PlanPrograms(std::move(programs), device->kind(), session));
  const std::chrono::nanoseconds taken =
      std::chrono::steady_clock::now() - begin;
  setup.plan_ns = taken.count();
  const PlannedProgram& first = planned.programs.front();
  setup.predicted_step_ns = PlayStep(first.graph, first.plan, setup.algorithms,
                                     *setup.options.ops, setup.profile)
                                .step_ns;
  SPILLWAY_ASSIGN_OR_RETURN(
      setup.session,
      CreateSession(std::move(planned), std::move(device), session));
  SPILLWAY_RETURN_IF_ERROR(
      Annotate(WriteInitialValues(model, step.onnx, *setup.session), "--onnx"));
  // After planning: no images are made for a step that does not fit.
  setup.feeds.emplace(setup.graph, step.model,
                      static_cast<uint64_t>(flags.seed), setup.session.get());
  return setup;
}

}  // namespace spillway
