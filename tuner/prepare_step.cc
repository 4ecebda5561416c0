#include "tuner/prepare_step.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "executor/device/registry.h"
#include "executor/kernel_registry.h"
#include "executor/plan/compile.h"
#include "executor/plan/verify_plan.h"
#include "executor/session/plan_programs.h"
#include "fmt/format.h"

namespace spillway {

namespace {

absl::Status CheckKnown(const Graph& graph, const KnownAlgorithms& known,
                        const AlgorithmNames& names) {
  for (const Node& node : graph.nodes()) {
    const std::string_view name = AlgorithmOf(names, node.id);
    if (name.empty()) continue;
    const auto& of_node = known[node.id];
    if (std::ranges::count(of_node, name, &KnownAlgorithm::name) > 0) continue;
    return InvalidArgument(
        fmt::format("{}: op {} has no algorithm \"{}\" on this device",
                    node.name, node.op, name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckUndecided(const Program& program) {
  if (program.order || !program.algorithms.empty()) {
    return InvalidArgument(
        "program: has an order or algorithms already; Session::Create runs it");
  }
  return CheckProgram(program);
}

absl::StatusOr<PlanInputs> PreparePlan(const PlanSpec& spec) {
  const Graph& graph = *spec.graph;
  const StepOptions& options = *spec.options;
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> kind,
                            OpenWholeDevice(options));
  const OpRegistry& ops = *options.ops;
  const IdMap<NodeId, bool> keep = NodesToRun(graph, ops, spec.fetches);
  PlanInputs inputs;
  SPILLWAY_ASSIGN_OR_RETURN(inputs.schedule, MakeSchedule(graph, ops, keep));
  SPILLWAY_ASSIGN_OR_RETURN(
      const KernelMap kernels,
      PrepareKernels(graph, ops, *options.kernels, keep,
                     {.kind = kind->kind(),
                      .threads = ResolveThreads(options.threads),
                      .allow_missing = true,
                      .math = options.math}));
  SPILLWAY_ASSIGN_OR_RETURN(const ListedAlgorithms listed,
                            ListAlgorithms(graph, kernels));
  inputs.algorithms = FindAlgorithms(
      graph, listed, spec.profile == nullptr ? DeviceProfile() : *spec.profile);
  SPILLWAY_RETURN_IF_ERROR(
      CheckKnown(graph, inputs.algorithms, spec.algorithms));
  inputs.options.fetches = spec.fetches;
  inputs.options.workspace_bytes = WorkspaceBytes(graph, kernels);
  SetWorkspaces(inputs.algorithms, spec.algorithms,
                inputs.options.workspace_bytes);
  AddResidents(graph, ops, inputs.schedule, inputs.options.constant_prefix,
               inputs.options.residents);
  inputs.options.device_budget_bytes = options.device_memory;
  inputs.options.host_budget_bytes = HostMemoryOf(options);
  SPILLWAY_ASSIGN_OR_RETURN(
      inputs.schedule,
      ChooseSchedule(graph, ops, keep, options.schedule, inputs.options));
  return inputs;
}

absl::StatusOr<AlgorithmNames> FitAlgorithms(const PlanSpec& spec,
                                             const PlanInputs& inputs,
                                             int64_t budget) {
  AlgorithmNames names;
  for (LimitedChoice& choice : LimitedChoices(inputs.algorithms)) {
    names = std::move(choice.names);
    PlanInputs with_names = inputs;
    SetWorkspaces(inputs.algorithms, names, with_names.options.workspace_bytes);
    SPILLWAY_ASSIGN_OR_RETURN(
        const int64_t smallest,
        SmallestDeviceMemory(*spec.graph, with_names, *spec.options));
    if (smallest <= budget) break;
  }
  return names;
}

absl::StatusOr<int64_t> SmallestDeviceMemory(const Graph& graph,
                                             const PlanInputs& inputs,
                                             const StepOptions& options) {
  const OpRegistry& ops = *options.ops;
  Schedule schedule = inputs.schedule;
  if (options.schedule == ScheduleKind::kAuto) {
    SPILLWAY_ASSIGN_OR_RETURN(
        schedule, ChooseSchedule(graph, ops,
                                 NodesToRun(graph, ops, inputs.options.fetches),
                                 ScheduleKind::kMemory, inputs.options));
  }
  return SmallestDeviceBudget(graph, ops, schedule, inputs.options);
}

absl::StatusOr<std::vector<int64_t>> BytesOfOtherResidents(
    const std::vector<const Program*>& programs, const OpRegistry& ops) {
  std::vector<int64_t> bytes;
  ResidentLayout all;
  for (size_t i = 0; i < programs.size(); ++i) {
    const Graph& graph = programs[i]->graph;
    const std::string prefix = ConstantPrefix(i);
    SPILLWAY_ASSIGN_OR_RETURN(
        const Schedule schedule,
        MakeSchedule(graph, ops, NodesToRun(graph, ops, programs[i]->fetches)));
    ResidentLayout own;
    AddResidents(graph, ops, schedule, prefix, own);
    AddResidents(graph, ops, schedule, prefix, all);
    bytes.push_back(-own.bytes);
  }
  for (int64_t& of_program : bytes) of_program += all.bytes;
  return bytes;
}

absl::StatusOr<ExecutionPlan> MakePlan(const Graph& graph,
                                       const PlanInputs& inputs,
                                       const OpRegistry& ops) {
  SPILLWAY_ASSIGN_OR_RETURN(
      ExecutionPlan plan,
      CompilePlan(graph, ops, inputs.schedule, inputs.options));
  SPILLWAY_RETURN_IF_ERROR(
      VerifyPlan(plan, graph, ops, &inputs.options.workspace_bytes));
  return plan;
}

SwapCounts CountSwaps(const ExecutionPlan& plan) {
  SwapCounts counts;
  std::set<BufferId> tensors;
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::kSwapOut) {
      ++counts.swap_outs;
      counts.out_bytes += plan.buffers[step.outputs[0]].bytes;
      tensors.insert(step.inputs[0]);
    } else if (step.kind == StepKind::kSwapIn) {
      ++counts.swap_ins;
      counts.in_bytes += plan.buffers[step.outputs[0]].bytes;
    } else if (IsFedAgain(plan, step)) {
      ++counts.fed_again;
      counts.fed_again_bytes += plan.buffers[step.outputs[0]].bytes;
    }
  }
  counts.tensors = static_cast<int64_t>(tensors.size());
  counts.delayed_swap_ins = plan.delayed_swap_ins;
  return counts;
}

SwapCounts MeasuredSwaps(const Session& session, int64_t steps) {
  if (steps < 1) return {};
  const CopyCounts& copies = *session.copies(0);
  return {.tensors = CountSwaps(*session.plan(0)).tensors,
          .swap_outs = copies.swap_outs / steps,
          .swap_ins = copies.swap_ins / steps,
          .delayed_swap_ins = session.plan(0)->delayed_swap_ins,
          .out_bytes = copies.out_bytes / steps,
          .in_bytes = copies.in_bytes / steps,
          .fed_again = copies.fed_again / steps,
          .fed_again_bytes = copies.fed_again_bytes / steps};
}

}  // namespace spillway
