#include "executor/session/plan_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/status_macros.h"
#include "executor/device/registry.h"
#include "executor/plan/assign_buffers.h"
#include "executor/plan/compile.h"
#include "executor/plan/verify_plan.h"
#include "executor/session/verify_residents.h"
#include "graph/order/schedule.h"
#include "graph/storage.h"
#include "graph/verify.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

absl::Status CheckBudget(std::string_view what,
                         const std::optional<int64_t>& bytes) {
  if (!bytes || *bytes >= 0) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("SessionOptions::{} must be 0 bytes or more, not {}; leave "
                  "it out for as little as possible",
                  what, *bytes));
}

absl::Status CheckOptions(const SessionOptions& options) {
  if (options.ops == nullptr || options.kernels == nullptr) {
    return InvalidArgument(fmt::format(
        "SessionOptions::{} is null; leave it out for the standard ones",
        options.ops == nullptr ? "ops" : "kernels"));
  }
  SPILLWAY_RETURN_IF_ERROR(options.ops->status());
  SPILLWAY_RETURN_IF_ERROR(options.kernels->status());
  SPILLWAY_RETURN_IF_ERROR(CheckBudget("device_memory", options.device_memory));
  SPILLWAY_RETURN_IF_ERROR(CheckBudget("host_memory", options.host_memory));
  return CheckThreads(options.threads);
}

class Planner {
 public:
  Planner(std::vector<Program> programs, DeviceKind kind,
          const SessionOptions& options)
      : programs_(std::move(programs)), kind_(kind), options_(options) {
    planned_.threads = ResolveThreads(options.threads);
  }

  // All residents come first: every plan needs the whole layout.
  absl::StatusOr<PlannedPrograms> Run() {
    for (size_t i = 0; i < programs_.size(); ++i) {
      SPILLWAY_RETURN_IF_ERROR(Prepare(i));
    }
    for (size_t i = 0; i < programs_.size(); ++i) {
      SPILLWAY_RETURN_IF_ERROR(Compile(i));
    }
    SPILLWAY_RETURN_IF_ERROR(VerifyResidents(planned_));
    return std::move(planned_);
  }

 private:
  absl::Status Prepare(size_t index) {
    Program& program = programs_[index];
    SPILLWAY_RETURN_IF_ERROR(Annotate(VerifyGraph(program.graph, *options_.ops),
                                      fmt::format("program {}", index)));
    SPILLWAY_RETURN_IF_ERROR(CheckProgram(program));
    IdMap<NodeId, bool> keep =
        NodesToRun(program.graph, *options_.ops, program.fetches);
    SPILLWAY_ASSIGN_OR_RETURN(const Schedule schedule,
                              MakeSchedule(program.graph, *options_.ops, keep));
    SPILLWAY_ASSIGN_OR_RETURN(
        KernelMap kernels,
        PrepareKernels(program.graph, *options_.ops, *options_.kernels, keep,
                       {.kind = kind_,
                        .threads = planned_.threads,
                        .math = options_.math,
                        .algorithms = std::move(program.algorithms)}));
    SPILLWAY_ASSIGN_OR_RETURN(
        FeedLimits feed_limits,
        FindFeedLimits(program.graph, *options_.ops, keep));
    SPILLWAY_RETURN_IF_ERROR(AddNewResidents(index, schedule));
    planned_.programs.push_back({.graph = std::move(program.graph),
                                 .kernels = std::move(kernels),
                                 .feed_limits = std::move(feed_limits)});
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
      const Space space = OutputSpace(node);
      const auto [entry, is_new] =
          kinds_.try_emplace(key, ResidentKind{.type = type, .space = space});
      const ResidentKind& first = entry->second;
      if (first.type != type) {
        return InvalidArgument(fmt::format(
            "variable {} is {} in {} but {} in a program before it", node.name,
            type.ToString(), graph.name(), first.type.ToString()));
      }
      if (first.space != space) {
        return InvalidArgument(fmt::format(
            "variable {} is on the {} in {}, but not in a program before it",
            node.name, space == Space::kHost ? "host" : "device",
            graph.name()));
      }
      if (!is_new) continue;
      if (node.op == kVariable && index > 0) {
        SPILLWAY_RETURN_IF_ERROR(CheckOwnVariable(index, node));
      }
      const bool is_variable = node.op == kVariable;
      const bool is_saved =
          node.attributes.GetBool("saved", true).value_or(true);
      planned_.residents.push_back({.name = node.name,
                                    .is_variable = is_variable,
                                    .is_state = is_variable && is_saved,
                                    .type = type,
                                    .space = space,
                                    .offset = layout_.offsets.at(key),
                                    .program = index,
                                    .node = id});
    }
    return absl::OkStatus();
  }

  // If only a later program has a variable, its name is more likely a mistake
  // than intended.
  absl::Status CheckOwnVariable(size_t index, const Node& node) const {
    if (IsOwnVariable(node.name, options_.own_variables)) {
      return absl::OkStatus();
    }
    return InvalidArgument(fmt::format(
        "program {} ({}) has the variable {}, which no earlier program has, "
        "so no training step would update it; give it the name of a variable "
        "of the first program, or list it in SessionOptions::own_variables",
        index, programs_[index].graph.name(), node.name));
  }

  absl::Status Compile(size_t index) {
    PlannedProgram& program = planned_.programs[index];
    const IdMap<NodeId, int64_t> workspace =
        WorkspaceBytes(program.graph, program.kernels);
    CompileOptions options = {.fetches = programs_[index].fetches,
                              .workspace_bytes = workspace,
                              .device_budget_bytes = options_.device_memory,
                              .host_budget_bytes = options_.host_memory,
                              .residents = layout_,
                              .constant_prefix = ConstantPrefix(index)};
    SPILLWAY_ASSIGN_OR_RETURN(const Schedule schedule, OrderOf(index, options));
    SPILLWAY_ASSIGN_OR_RETURN(
        program.plan,
        CompilePlan(program.graph, *options_.ops, schedule, options));
    SPILLWAY_RETURN_IF_ERROR(
        VerifyPlan(program.plan, program.graph, *options_.ops, &workspace));
    planned_.device_bytes =
        std::max(planned_.device_bytes, program.plan.device_bytes);
    planned_.host_bytes =
        std::max(planned_.host_bytes, program.plan.host_bytes);
    return absl::OkStatus();
  }

  // Also sets the placement that the order requests.
  absl::StatusOr<Schedule> OrderOf(size_t index, CompileOptions& options) {
    const Graph& graph = planned_.programs[index].graph;
    std::optional<TimedSchedule>& given = programs_[index].order;
    if (!given) {
      return ChooseSchedule(graph, *options_.ops, keep_[index],
                            options_.schedule, options);
    }
    SPILLWAY_RETURN_IF_ERROR(
        CheckSchedule(graph, keep_[index], given->schedule));
    const size_t num_expected = given->placement.expected_ns.size();
    if (num_expected != 0 && num_expected != graph.num_nodes()) {
      return InvalidArgument(
          fmt::format("the order has expected times of {} nodes; {} has {}",
                      num_expected, graph.name(), graph.num_nodes()));
    }
    options.placement = std::move(given->placement);
    SetSteps(graph.num_nodes(), given->schedule);
    return std::move(given->schedule);
  }

  std::vector<Program> programs_;
  const DeviceKind kind_;
  const SessionOptions& options_;
  std::vector<IdMap<NodeId, bool>> keep_;  // nodes to run, by program
  ResidentLayout layout_;
  struct ResidentKind {
    TensorType type = {};
    Space space = Space::kDevice;
  };
  std::map<std::string, ResidentKind> kinds_;  // of residents, by layout key
  PlannedPrograms planned_;
};

}  // namespace

std::string ConstantPrefix(size_t program) {
  return fmt::format("constant:{}/", program);
}

bool IsOwnVariable(std::string_view name,
                   const std::vector<std::string>& own_variables) {
  return std::ranges::any_of(own_variables, [&](const std::string& own) {
    return name.starts_with(own) &&
           (name.size() == own.size() || name[own.size()] == '/');
  });
}

absl::Status CheckProgram(const Program& program) {
  const Graph& graph = program.graph;
  if (graph.num_nodes() == 0) {
    return InvalidArgument(fmt::format(
        "{} has no nodes; was the graph moved from?", graph.name()));
  }
  for (const ValueId fetch : program.fetches) {
    if (!fetch.is_valid() || fetch.index() >= graph.num_values()) {
      return InvalidArgument(fmt::format("fetch of value {}, but {} has {}",
                                         fetch.value(), graph.name(),
                                         graph.num_values()));
    }
    if (CopiesToHost(graph.producer(fetch).op)) {
      return InvalidArgument(
          fmt::format("fetch {} lives on the host; fetch the value it is a "
                      "copy of",
                      graph.ValueName(fetch)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<PlannedPrograms> PlanPrograms(std::vector<Program> programs,
                                             DeviceKind kind,
                                             const SessionOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(CheckOptions(options));
  if (programs.empty()) return InvalidArgument("a session needs a program");
  return Planner(std::move(programs), kind, options).Run();
}

}  // namespace spillway
