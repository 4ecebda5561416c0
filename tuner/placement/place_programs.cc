#include "tuner/placement/place_programs.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "comm/communicator.h"
#include "executor/device/registry.h"
#include "executor/plan/compile.h"
#include "executor/plan/floor.h"
#include "executor/plan/memory_shortage.h"
#include "executor/session/plan_programs.h"
#include "fmt/format.h"
#include "graph/copies.h"
#include "graph/input_groups.h"
#include "graph/order/schedule.h"
#include "graph/storage.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"
#include "lms/placement/place_on_host.h"
#include "tuner/placement/estimate.h"
#include "tuner/prepare_step.h"
#include "tuner/profile/resolve_profile.h"
#include "tuner/tune.h"

namespace spillway {
namespace {

// The floor of one of the programs.
struct ProgramFloor {
  size_t program = 0;
  MemoryFloor floor = {};
  int64_t resident_bytes = 0;  // the part that variables and constants take
};

class ProgramPlacer {
 public:
  ProgramPlacer(const StepOptions& options,
                const std::vector<std::string>& host_variables,
                std::vector<Program>& programs)
      : options_(options),
        ops_(*options.ops),
        programs_(programs),
        variables_(host_variables.begin(), host_variables.end()) {}

  // Nodes that cannot run on the device; with `only_collectives`, of these only
  // the collectives.
  absl::Status PlaceWithoutKernel(bool only_collectives) {
    SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                              OpenWholeDevice(options_));
    for (const Program& program : programs_) {
      SPILLWAY_RETURN_IF_ERROR(CheckUndecided(program));
      HostNodes& host = host_.emplace_back();
      host.nodes.resize(program.graph.num_nodes(), false);
      for (const Node& node : program.graph.nodes()) {
        if (only_collectives && !IsCollective(node.op)) continue;
        if (!CanRun(node, device->kind()) && CanRun(node, DeviceKind::kCpu)) {
          host.nodes[node.id] = true;
        }
      }
    }
    return absl::OkStatus();
  }

  bool PlacesAny() const {
    return std::ranges::any_of(host_, [](const HostNodes& host) {
      return std::ranges::find(host.nodes, true) != host.nodes.end();
    });
  }

  // What the decisions by memory need.
  absl::Status FindBudgetsAndWorkspaces() {
    SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile,
                              ResolveProfile(options_));
    SPILLWAY_ASSIGN_OR_RETURN(budgets_.device_bytes,
                              TuningBudget(options_, profile));
    budgets_.host_bytes =
        HostBudgetFor(options_, profile).value_or(HostMemoryOf(options_));
    for (const Program& program : programs_) {
      SPILLWAY_ASSIGN_OR_RETURN(const PlanInputs inputs,
                                PreparePlan({.graph = &program.graph,
                                             .fetches = program.fetches,
                                             .options = &options_}));
      workspaces_.push_back(inputs.options.workspace_bytes);
    }
    return absl::OkStatus();
  }

  // By the estimate of each node.
  void PlaceByEstimate() {
    for (size_t i = 0; i < programs_.size(); ++i) {
      const Graph& graph = programs_[i].graph;
      for (const Node& node : graph.nodes()) {
        const int64_t bytes =
            EstimateBytes(graph, node.id, workspaces_[i][node.id]);
        if (!RunsOnDevice(bytes, budgets_)) host_[i].nodes[node.id] = true;
      }
    }
  }

  void PlaceUpdates() {
    for (size_t i = 0; i < programs_.size(); ++i) {
      const Graph& graph = programs_[i].graph;
      for (const Node& node : graph.nodes()) {
        if (BytesUpdatedBy(graph, node) > 0) host_[i].nodes[node.id] = true;
      }
    }
  }

  // Until all floors are within the budget. The placed programs.
  absl::StatusOr<std::vector<Program>> PlaceLeast() {
    while (true) {
      SPILLWAY_ASSIGN_OR_RETURN(std::vector<Program> placed, Placed());
      SPILLWAY_ASSIGN_OR_RETURN(const ProgramFloor largest,
                                LargestFloor(placed));
      if (largest.floor.bytes <= budgets_.device_bytes) return placed;
      const Graph& graph = placed[largest.program].graph;
      if (!PlaceMore(graph, largest)) return Refusal(graph, largest.floor);
    }
  }

  // The programs with the nodes chosen so far on the host.
  absl::StatusOr<std::vector<Program>> Placed() {
    size_t agreed = 0;
    do {  // each may add variables, on which all agree
      agreed = variables_.size();
      for (size_t i = 0; i < programs_.size(); ++i) {
        host_[i].variables = variables_;
        AddRequired(programs_[i].graph, ops_, host_[i]);
        variables_ = host_[i].variables;
      }
    } while (variables_.size() != agreed);
    std::vector<Program> placed = programs_;
    for (size_t i = 0; i < placed.size(); ++i) {
      host_[i].variables = variables_;
      SPILLWAY_RETURN_IF_ERROR(PlaceOnHost(host_[i], ops_, placed[i].graph));
    }
    return placed;
  }

  // Takes the placed programs over.
  PlacementReport Finish(PlaceMode mode, std::vector<Program> placed) {
    PlacementReport report = {.mode = mode};
    std::set<std::string> variables;
    for (const Program& program : placed) {
      std::vector<std::string>& nodes = report.nodes.emplace_back();
      for (const Node& node : program.graph.nodes()) {
        if (node.placement != Placement::kHost || CopiesToHost(node.op)) {
          continue;
        }
        if (node.op == kVariable) {
          if (!variables.insert(node.name).second) continue;
          report.variable_bytes +=
              program.graph.type(node.outputs[0]).num_bytes();
        } else if (!IsResidentNode(node, ops_)) {
          nodes.push_back(node.name);
        }
      }
    }
    report.variables.assign(variables.begin(), variables.end());
    programs_ = std::move(placed);
    return report;
  }

 private:
  // A collective on a GPU also needs a communicator with streams. Without any,
  // as in predictions, one is assumed unless all-reduces are to be staged.
  bool CanRun(const Node& node, DeviceKind kind) const {
    if (kind == DeviceKind::kCuda && IsCollective(node.op)) {
      const Communicator* communicator = options_.communicator;
      const bool is_staged =
          communicator != nullptr
              ? communicator->streams() == nullptr
              : options_.network.staged_allreduce.value_or(false);
      if (is_staged) return false;
    }
    return options_.kernels->Find(node.op, kind) != nullptr;
  }

  absl::StatusOr<ProgramFloor> LargestFloor(
      const std::vector<Program>& placed) const {
    ResidentLayout residents;
    std::vector<Schedule> schedules;
    for (size_t i = 0; i < placed.size(); ++i) {
      const Graph& graph = placed[i].graph;
      SPILLWAY_ASSIGN_OR_RETURN(
          schedules.emplace_back(),
          MakeSchedule(graph, ops_,
                       NodesToRun(graph, ops_, placed[i].fetches)));
      AddResidents(graph, ops_, schedules.back(), ConstantPrefix(i), residents);
    }
    ProgramFloor largest;
    for (size_t i = 0; i < placed.size(); ++i) {
      CompileOptions options = {.fetches = placed[i].fetches,
                                .workspace_bytes = workspaces_[i],
                                .residents = residents,
                                .constant_prefix = ConstantPrefix(i)};
      options.workspace_bytes.resize(placed[i].graph.num_nodes(), 0);
      const MemoryFloor floor =
          FindFloor(placed[i].graph, ops_, schedules[i], options);
      if (i > 0 && floor.bytes <= largest.floor.bytes) continue;
      largest = {
          .program = i, .floor = floor, .resident_bytes = residents.bytes};
    }
    return largest;
  }

  // False if there is nothing more.
  bool PlaceMore(const Graph& placed, const ProgramFloor& largest) {
    const int64_t node_bytes = largest.floor.bytes - largest.resident_bytes;
    const bool is_too_large = node_bytes > budgets_.device_bytes;
    return is_too_large ? PlaceNodes(placed, largest) || PlaceUpdate()
                        : PlaceUpdate() || PlaceNodes(placed, largest);
  }

  // The node of the floor; of a copy, the nodes on the device that need it.
  bool PlaceNodes(const Graph& placed, const ProgramFloor& largest) {
    const NodeId id = largest.floor.node;
    if (!id.is_valid()) return false;
    const Node& node = placed.node(id);
    HostNodes& host = host_[largest.program];
    const IdMap<NodeId, bool> before = host.nodes;
    const auto add = [&](NodeId more) { host.nodes[more] = true; };
    if (CopiesToHost(node.op)) {
      add(placed.value(node.inputs[0]).producer);
    } else if (CopiesToDevice(node.op)) {
      ForEachReader(placed, node.outputs[0], add);
    } else {
      add(id);
    }
    // Takes out what cannot be there.
    AddRequired(programs_[largest.program].graph, ops_, host);
    return host.nodes != before;
  }

  // The update of the most bytes of variables on the device. False: none is
  // left there.
  bool PlaceUpdate() {
    int64_t most = 0;
    size_t program = 0;
    NodeId update;
    for (size_t i = 0; i < programs_.size(); ++i) {
      const Graph& graph = programs_[i].graph;
      for (const Node& node : graph.nodes()) {
        if (host_[i].nodes[node.id]) continue;
        const int64_t bytes = BytesUpdatedBy(graph, node);
        if (bytes <= most) continue;
        most = bytes;
        program = i;
        update = node.id;
      }
    }
    if (most > 0) host_[program].nodes[update] = true;
    return most > 0;
  }

  // Of variables, by a node that does nothing else; 0 for other nodes, such as
  // a batch norm that also keeps its moving statistics.
  int64_t BytesUpdatedBy(const Graph& graph, const Node& node) const {
    const OpDef* def = ops_.Find(node.op);
    if (def == nullptr) return 0;
    if (AliasesOf(*def, node.inputs.size()).size() < node.outputs.size()) {
      return 0;
    }
    int64_t bytes = 0;
    for (const int input : MutatedInputs(*def, node.inputs.size())) {
      bytes += graph.type(node.inputs[static_cast<size_t>(input)]).num_bytes();
    }
    return bytes;
  }

  absl::Status Refusal(const Graph& graph, const MemoryFloor& floor) const {
    return Annotate(
        ShortageError({.needed_bytes = floor.bytes,
                       .budget_bytes = budgets_.device_bytes,
                       .floor_bytes = floor.bytes,
                       .floor_node = floor.node.is_valid()
                                         ? graph.node(floor.node).name
                                         : ""}),
        "place: nothing more can run on the host");
  }

  const StepOptions& options_;
  const OpRegistry& ops_;
  std::vector<Program>& programs_;
  PlacementBudgets budgets_;
  std::vector<IdMap<NodeId, int64_t>> workspaces_;  // by program
  std::vector<HostNodes> host_;                     // by program
  std::set<std::string> variables_;  // on the host, of all programs
};

bool HasCollectives(const Program& program) {
  return std::ranges::any_of(program.graph.nodes(), [](const Node& node) {
    return IsCollective(node.op);
  });
}

}  // namespace

size_t PlacementReport::num_nodes() const {
  size_t count = 0;
  for (const std::vector<std::string>& of_program : nodes) {
    count += of_program.size();
  }
  return count;
}

std::string_view PlaceModeName(PlaceMode mode) {
  switch (mode) {
    case PlaceMode::kOff:
      return "off";
    case PlaceMode::kAuto:
      return "auto";
    case PlaceMode::kUpdates:
      return "updates";
    case PlaceMode::kEstimate:
      return "estimate";
    case PlaceMode::kForce:
      return "force";
  }
  SPILLWAY_CHECK(false);
}

absl::StatusOr<PlacementReport> PlacePrograms(
    PlaceMode mode, const StepOptions& options, std::vector<Program>& programs,
    const std::vector<std::string>& host_variables) {
  PlacementReport none = {.mode = mode};
  none.nodes.resize(programs.size());
  const bool is_off = mode == PlaceMode::kOff;
  if (is_off && host_variables.empty() &&
      std::ranges::none_of(programs, HasCollectives)) {
    return none;
  }
  SPILLWAY_RETURN_IF_ERROR(CheckStepOptions(options));
  ProgramPlacer placer(options, host_variables, programs);
  SPILLWAY_RETURN_IF_ERROR(placer.PlaceWithoutKernel(is_off));
  if (is_off && host_variables.empty() && !placer.PlacesAny()) return none;
  if (mode == PlaceMode::kAuto || mode == PlaceMode::kEstimate) {
    SPILLWAY_RETURN_IF_ERROR(placer.FindBudgetsAndWorkspaces());
  }
  if (mode == PlaceMode::kUpdates) placer.PlaceUpdates();
  if (mode == PlaceMode::kEstimate) placer.PlaceByEstimate();
  SPILLWAY_ASSIGN_OR_RETURN(
      std::vector<Program> placed,
      mode == PlaceMode::kAuto ? placer.PlaceLeast() : placer.Placed());
  return placer.Finish(mode, std::move(placed));
}

absl::StatusOr<PlacementReport> PlaceProgram(
    PlaceMode mode, const StepOptions& options, Program& program,
    const std::vector<std::string>& host_variables) {
  std::vector<Program> programs = {std::move(program)};
  absl::StatusOr<PlacementReport> report =
      PlacePrograms(mode, options, programs, host_variables);
  program = std::move(programs[0]);
  return report;
}

}  // namespace spillway
