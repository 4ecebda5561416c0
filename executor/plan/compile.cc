#include "executor/plan/compile.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "executor/memory/static_packing.h"
#include "executor/plan/assign_buffers.h"
#include "executor/plan/place_waits.h"
#include "fmt/format.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

std::string ResidentKey(const Node& node, std::string_view constant_prefix) {
  return node.op == kVariable ? node.name
                              : std::string(constant_prefix) + node.name;
}

bool IsResidentNode(const Node& node, const OpRegistry& ops) {
  const OpDef* def = ops.Find(node.op);
  return def != nullptr && def->resident;
}

StepKind KindOf(const Node& node, const OpRegistry& ops) {
  if (node.op == kPlaceholder) return StepKind::kFeed;
  if (node.op == kSwapOut) return StepKind::kSwapOut;
  if (node.op == kSwapIn) return StepKind::kSwapIn;
  return IsPureAlias(ops.Find(node.op)) ? StepKind::kAlias : StepKind::kCompute;
}

Lane LaneOf(StepKind kind) {
  switch (kind) {
    case StepKind::kFeed:
    case StepKind::kSwapIn:
      return Lane::kCopyIn;
    case StepKind::kSwapOut:
      return Lane::kCopyOut;
    case StepKind::kCompute:
    case StepKind::kAlias:
      return Lane::kCompute;
  }
  return Lane::kCompute;
}

class Compiler {
 public:
  Compiler(const Graph& graph, const OpRegistry& ops, const Schedule& schedule,
           const CompileOptions& options)
      : graph_(graph), ops_(ops), schedule_(schedule), options_(options) {}

  // The plan with as few device bytes as `target_bytes` asks for (and no
  // budget checked).
  ExecutionPlan Compile(int64_t target_bytes) {
    AddSteps();
    const IdMap<BufferId, bool> fetched = FetchedBuffers();
    Lifetimes lifetimes = FindLifetimes(plan_.steps, plan_.buffers, fetched);
    PlaceOnDevice(target_bytes, lifetimes);
    Pack(Space::kHost, 0, lifetimes, 0);
    AddWaits(dependencies_, lifetimes, plan_.steps);
    return std::move(plan_);
  }

 private:
  void AddSteps() {
    BufferAssignment assignment =
        AssignBuffers(graph_, ops_, schedule_, options_.residents,
                      options_.constant_prefix, options_.fetches);
    plan_.buffers = std::move(assignment.buffers);
    plan_.buffer_of = std::move(assignment.buffer_of);
    plan_.fetches = options_.fetches;
    plan_.resident_bytes = options_.residents.bytes;
    IdMap<NodeId, StepId> step_of(graph_.num_nodes());
    for (const NodeId id : schedule_.order) {
      const Node& node = graph_.node(id);
      if (IsResidentNode(node, ops_)) continue;
      step_of[id] = plan_.steps.push_back(MakeStep(node));
      dependencies_.push_back(Dependencies(node, step_of));
    }
  }

  Step MakeStep(const Node& node) {
    const StepKind kind = KindOf(node, ops_);
    Step step{.node = node.id, .kind = kind, .lane = LaneOf(kind)};
    for (const ValueId input : node.inputs) {
      step.inputs.push_back(plan_.buffer_of[input]);
    }
    for (const ValueId output : node.outputs) {
      step.outputs.push_back(plan_.buffer_of[output]);
    }
    const int64_t workspace = options_.workspace_bytes.empty()
                                  ? 0
                                  : options_.workspace_bytes[node.id];
    if (workspace > 0) {
      step.workspace =
          plan_.buffers.push_back({.name = node.name + " workspace",
                                   .kind = BufferKind::kWorkspace,
                                   .space = Space::kDevice,
                                   .bytes = workspace});
    }
    return step;
  }

  std::vector<StepId> Dependencies(const Node& node,
                                   const IdMap<NodeId, StepId>& step_of) const {
    std::vector<StepId> steps;
    for (const ValueId input : node.inputs) {
      steps.push_back(step_of[graph_.value(input).producer]);
    }
    for (const NodeId control : node.control_inputs) {
      steps.push_back(step_of[control]);
    }
    std::erase_if(steps, [](StepId id) { return !id.is_valid(); });
    return steps;
  }

  IdMap<BufferId, bool> FetchedBuffers() const {
    IdMap<BufferId, bool> fetched(plan_.buffers.size(), false);
    for (const ValueId value : options_.fetches) {
      fetched[plan_.buffer_of[value]] = true;
    }
    return fetched;
  }

  // Lowers the target of the live bytes until the packed height meets
  // `target_bytes`; keeps the lowest placement seen.
  void PlaceOnDevice(int64_t target_bytes, Lifetimes& lifetimes) {
    const int64_t transient_target = target_bytes - plan_.resident_bytes;
    const Lifetimes earliest = lifetimes;
    const int64_t lower_bound = LowerBound(Space::kDevice, earliest);
    plan_.device_lower_bound_bytes = plan_.resident_bytes + lower_bound;
    int64_t live_target = std::max(transient_target, lower_bound);
    Lifetimes best_lifetimes;
    IdMap<BufferId, Buffer> best_buffers;
    int64_t best_height = std::numeric_limits<int64_t>::max();
    constexpr int kAttempts = 8;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      lifetimes = earliest;
      DelayWaits(plan_.steps, plan_.buffers, live_target, lifetimes);
      Pack(Space::kDevice, plan_.resident_bytes, lifetimes, transient_target);
      if (plan_.device_bytes < best_height) {
        best_height = plan_.device_bytes;
        best_lifetimes = lifetimes;
        best_buffers = plan_.buffers;
      }
      const int64_t excess = plan_.device_bytes - target_bytes;
      if (excess <= 0 || lifetimes.swapped.empty() ||
          live_target < lower_bound) {
        break;
      }
      live_target -= std::max(excess, kBufferAlignment);
    }
    lifetimes = std::move(best_lifetimes);
    plan_.buffers = std::move(best_buffers);
    plan_.device_bytes = best_height;
  }

  // Items of one space, and the buffers they stand for.
  std::vector<PackingItem> Items(Space space, const Lifetimes& lifetimes,
                                 std::vector<BufferId>& ids) const {
    std::vector<PackingItem> items;
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const BufferId id(i);
      const Buffer& buffer = plan_.buffers[id];
      if (buffer.space != space || lifetimes.of[id].empty()) continue;
      items.push_back({.lifetime = lifetimes.of[id], .bytes = buffer.bytes});
      ids.push_back(id);
    }
    return items;
  }

  int64_t LowerBound(Space space, const Lifetimes& lifetimes) const {
    std::vector<BufferId> ids;
    return LiveBytesLowerBound(Items(space, lifetimes, ids), kBufferAlignment);
  }

  void Pack(Space space, int64_t base, const Lifetimes& lifetimes,
            int64_t target_bytes) {
    std::vector<BufferId> ids;
    const std::vector<PackingItem> items = Items(space, lifetimes, ids);
    const Packing packing = PackBuffers(items, kBufferAlignment, target_bytes);
    for (size_t i = 0; i < ids.size(); ++i) {
      plan_.buffers[ids[i]].offset = base + packing.offsets[i];
    }
    (space == Space::kDevice ? plan_.device_bytes : plan_.host_bytes) =
        items.empty() ? base : base + packing.height_bytes;
  }

  const Graph& graph_;
  const OpRegistry& ops_;
  const Schedule& schedule_;
  const CompileOptions& options_;
  ExecutionPlan plan_;
  std::vector<std::vector<StepId>> dependencies_;  // by step
};

absl::Status DeviceBudgetError(const Graph& graph, const MemoryFloor& floor,
                               int64_t needed, int64_t budget) {
  const std::string_view at =
      floor.node.is_valid() ? std::string_view(graph.node(floor.node).name)
                            : "(no node)";
  const std::string_view remedy =
      floor.bytes <= budget ? "swap more (--lms), or lower the batch size"
                            : "swapping cannot help; lower the batch size";
  return ResourceExhausted(fmt::format(
      "device memory: the step needs {} ({} bytes), the budget is {}: {} "
      "missing; the smallest budget with these options is {} bytes; the floor, "
      "the largest working set of one node, is {} at {}; {}",
      FormatBytes(needed), needed, FormatBytes(budget),
      FormatBytes(needed - budget), needed, FormatBytes(floor.bytes), at,
      remedy));
}

}  // namespace

void AddResidents(const Graph& graph, const OpRegistry& ops,
                  const Schedule& schedule, std::string_view constant_prefix,
                  ResidentLayout& layout) {
  for (const NodeId id : schedule.order) {
    const Node& node = graph.node(id);
    if (!IsResidentNode(node, ops)) continue;
    const auto [entry, is_new] = layout.offsets.try_emplace(
        ResidentKey(node, constant_prefix), layout.bytes);
    if (!is_new) continue;
    layout.bytes +=
        AlignUp(graph.type(node.outputs[0]).num_bytes(), kBufferAlignment);
  }
}

absl::StatusOr<ExecutionPlan> CompilePlan(const Graph& graph,
                                          const OpRegistry& ops,
                                          const Schedule& schedule,
                                          const CompileOptions& options) {
  for (const ValueId fetch : options.fetches) {
    if (!schedule.contains(graph.value(fetch).producer)) {
      return InvalidArgument(fmt::format("fetch {} is not part of the step",
                                         graph.ValueName(fetch)));
    }
  }
  const int64_t budget = options.device_budget_bytes.value_or(0);
  ExecutionPlan plan = Compiler(graph, ops, schedule, options).Compile(budget);
  if (options.device_budget_bytes.has_value() && plan.device_bytes > budget) {
    // Packing is a heuristic: asked for less, it may do better.
    plan = Compiler(graph, ops, schedule, options).Compile(0);
    if (plan.device_bytes > budget) {
      return DeviceBudgetError(graph, FindFloor(graph, ops, schedule, options),
                               plan.device_bytes, budget);
    }
  }
  if (options.host_budget_bytes.has_value() &&
      plan.host_bytes > *options.host_budget_bytes) {
    return ResourceExhausted(
        fmt::format("host swap pool exhausted: need {} ({} bytes), limit {}",
                    FormatBytes(plan.host_bytes), plan.host_bytes,
                    FormatBytes(*options.host_budget_bytes)));
  }
  return plan;
}

MemoryFloor FindFloor(const Graph& graph, const OpRegistry& ops,
                      const Schedule& schedule, const CompileOptions& options) {
  const BufferAssignment assignment =
      AssignBuffers(graph, ops, schedule, options.residents,
                    options.constant_prefix, options.fetches);
  MemoryFloor floor{.node = {}, .bytes = options.residents.bytes};
  for (const NodeId id : schedule.order) {
    const Node& node = graph.node(id);
    std::set<BufferId> buffers;
    for (const ValueId value : node.inputs) {
      buffers.insert(assignment.buffer_of[value]);
    }
    for (const ValueId value : node.outputs) {
      buffers.insert(assignment.buffer_of[value]);
    }
    int64_t bytes = options.residents.bytes;
    for (const BufferId buffer : buffers) {
      const Buffer& b = assignment.buffers[buffer];
      if (b.space == Space::kDevice && b.kind == BufferKind::kTransient) {
        bytes += AlignUp(b.bytes, kBufferAlignment);
      }
    }
    if (!options.workspace_bytes.empty()) {
      bytes += AlignUp(options.workspace_bytes[id], kBufferAlignment);
    }
    if (bytes > floor.bytes) floor = {.node = id, .bytes = bytes};
  }
  return floor;
}

}  // namespace spillway
