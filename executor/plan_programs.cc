#include "executor/plan_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/status_macros.h"
#include "executor/device/registry.h"
#include "executor/plan/assign_buffers.h"
#include "executor/plan/compile.h"
#include "executor/plan/verify_plan.h"
#include "graph/schedule.h"
#include "graph/storage.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// Constants of different programs differ. No node name has a colon, so this
// meets no variable.
std::string ConstantPrefix(size_t program) {
  return fmt::format("constant:{}/", program);
}

absl::Status CheckFetches(const Program& program) {
  const Graph& graph = program.graph;
  for (const ValueId fetch : program.fetches) {
    if (!fetch.is_valid() || fetch.index() >= graph.num_values()) {
      return InvalidArgument(fmt::format("fetch of value {}, but {} has {}",
                                         fetch.value(), graph.name(),
                                         graph.num_values()));
    }
    if (OutputSpace(graph.producer(fetch)) == Space::kHost) {
      return InvalidArgument(
          fmt::format("fetch {} lives on the host; fetch the value it is a "
                      "copy of",
                      graph.ValueName(fetch)));
    }
  }
  return absl::OkStatus();
}

class Planner {
 public:
  Planner(std::vector<Program> programs, DeviceKind kind,
          const SessionOptions& options)
      : programs_(std::move(programs)), kind_(kind), options_(options) {}

  // Residents of all programs come first: every plan needs the whole layout.
  absl::StatusOr<PlannedPrograms> Run() {
    for (size_t i = 0; i < programs_.size(); ++i) {
      SPILLWAY_RETURN_IF_ERROR(Prepare(i));
    }
    for (size_t i = 0; i < programs_.size(); ++i) {
      SPILLWAY_RETURN_IF_ERROR(Compile(i));
    }
    return std::move(planned_);
  }

 private:
  absl::Status Prepare(size_t index) {
    Program& program = programs_[index];
    SPILLWAY_RETURN_IF_ERROR(CheckFetches(program));
    IdMap<NodeId, bool> keep =
        NodesToRun(program.graph, *options_.ops, program.fetches);
    SPILLWAY_ASSIGN_OR_RETURN(const Schedule schedule,
                              MakeSchedule(program.graph, *options_.ops, keep));
    SPILLWAY_ASSIGN_OR_RETURN(
        KernelMap kernels,
        PrepareKernels(program.graph, *options_.ops, *options_.kernels, keep,
                       {.kind = kind_,
                        .threads = ResolveThreads(options_.threads),
                        .math = options_.math,
                        .algorithms = std::move(program.algorithms)}));
    SPILLWAY_RETURN_IF_ERROR(AddNewResidents(index, schedule));
    planned_.programs.push_back(
        {.graph = std::move(program.graph), .kernels = std::move(kernels)});
    keep_.push_back(std::move(keep));
    return absl::OkStatus();
  }

  absl::Status AddNewResidents(size_t index, const Schedule& schedule) {
    const Graph& graph = programs_[index].graph;
    AddResidents(graph, *options_.ops, schedule, ConstantPrefix(index),
                 layout_);
    for (const NodeId id : schedule.order) {
      const Node& node = graph.node(id);
      if (!IsResidentNode(node, *options_.ops)) continue;
      const TensorType& type = graph.type(node.outputs[0]);
      const std::string key = ResidentKey(node, ConstantPrefix(index));
      const auto [first, is_new] = types_.try_emplace(key, type);
      if (first->second != type) {
        return InvalidArgument(fmt::format(
            "variable {} is {} in {} but {} in a program before it", node.name,
            type.ToString(), graph.name(), first->second.ToString()));
      }
      if (!is_new) continue;
      planned_.residents.push_back({.name = node.name,
                                    .is_variable = node.op == kVariable,
                                    .type = type,
                                    .offset = layout_.offsets.at(key),
                                    .program = index,
                                    .node = id});
    }
    return absl::OkStatus();
  }

  absl::Status Compile(size_t index) {
    PlannedProgram& program = planned_.programs[index];
    CompileOptions options = {
        .fetches = programs_[index].fetches,
        .workspace_bytes = WorkspaceBytes(program.graph, program.kernels),
        .device_budget_bytes = options_.device_memory,
        .host_budget_bytes = options_.host_memory,
        .residents = layout_,
        .constant_prefix = ConstantPrefix(index)};
    SPILLWAY_ASSIGN_OR_RETURN(const Schedule schedule, OrderOf(index, options));
    SPILLWAY_ASSIGN_OR_RETURN(
        program.plan,
        CompilePlan(program.graph, *options_.ops, schedule, options));
    SPILLWAY_RETURN_IF_ERROR(
        VerifyPlan(program.plan, program.graph, *options_.ops));
    planned_.device_bytes =
        std::max(planned_.device_bytes, program.plan.device_bytes);
    planned_.host_bytes =
        std::max(planned_.host_bytes, program.plan.host_bytes);
    return absl::OkStatus();
  }

  // Also sets what the order asks of the placement.
  absl::StatusOr<Schedule> OrderOf(size_t index, CompileOptions& options) {
    const Graph& graph = planned_.programs[index].graph;
    std::optional<TimedSchedule>& given = programs_[index].order;
    if (!given) {
      return ChooseSchedule(graph, *options_.ops, keep_[index],
                            options_.schedule, options);
    }
    SPILLWAY_RETURN_IF_ERROR(
        CheckSchedule(graph, keep_[index], given->schedule));
    options.placement = std::move(given->placement);
    return std::move(given->schedule);
  }

  std::vector<Program> programs_;
  const DeviceKind kind_;
  const SessionOptions& options_;
  std::vector<IdMap<NodeId, bool>> keep_;  // nodes to run, by program
  ResidentLayout layout_;
  std::map<std::string, TensorType> types_;  // of residents, by layout key
  PlannedPrograms planned_;
};

}  // namespace

absl::StatusOr<PlannedPrograms> PlanPrograms(std::vector<Program> programs,
                                             DeviceKind kind,
                                             const SessionOptions& options) {
  if (programs.empty()) return InvalidArgument("a session needs a program");
  if (options.threads < 0) {
    return InvalidArgument(fmt::format(
        "threads must be 0 (automatic) or more, not {}", options.threads));
  }
  return Planner(std::move(programs), kind, options).Run();
}

}  // namespace spillway
