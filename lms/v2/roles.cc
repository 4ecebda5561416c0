#include "lms/v2/roles.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"
#include "lms/scopes.h"
#include "lms/v2/levels.h"

namespace spillway {
namespace {

// Sorted. The original's list. A comma is missing in the original, which lost
// the two ops below.
constexpr std::array<std::string_view, 32> kNeverTypes = {
    "Assign",
    "AssignAdd",
    "AssignAddVariableOp",
    "AssignSub",
    "AssignVariableOp",
    "Const",
    "Identity",
    "Placeholder",
    "PlaceholderWithDefault",
    "Queue",
    "RandomUniform",
    "Range",
    "Read",
    "ReadVariableOp",
    "ResourceScatterAdd",
    "ResourceScatterDiv",
    "ResourceScatterMax",
    "ResourceScatterMin",
    "ResourceScatterMul",
    "ResourceScatterNdAdd",
    "ResourceScatterNdUpdate",
    "ResourceScatterSub",
    "ResourceScatterUpdate",
    "ScatterAdd",
    "ScatterSub",
    "ScatterUpdate",
    "TruncatedNormal",
    "VarHandleOp",
    "VarIsInitializedOp",
    "Variable",
    "VariableShape",
    "VariableV2"};
constexpr std::array<std::string_view, 2> kLostTypes = {"AssignSubVariableOp",
                                                        "ResourceGather"};

bool IsNeverType(std::string_view op) {
  return std::ranges::find(kNeverTypes, op) != kNeverTypes.end();
}

// Additional types without compat: the two lost ones, and optimizers, which
// overwrite variables.
bool IsNeverTypeByRuling(std::string_view op) {
  return std::ranges::find(kLostTypes, op) != kLostTypes.end() ||
         op.starts_with("Apply") || op.starts_with("ResourceApply");
}

bool IsOfOtherMode(const Node& node, bool is_training) {
  if (node.op != "FusedBatchNorm" && node.op != "FusedBatchNormGrad") {
    return false;
  }
  const auto attribute = node.attributes.GetBool("is_training", true);
  return attribute.ok() && *attribute != is_training;
}

// Deactivates nodes whose predecessors are all inactive. Constants do not count
// as predecessors, since they cannot start a node.
class ActivityFinder {
 public:
  ActivityFinder(const LmsOptions& options, const Graph& graph)
      : options_(options),
        graph_(graph),
        is_active_(graph.num_nodes(), true),
        active_edges_(graph.num_nodes(), 0) {}

  IdMap<NodeId, bool> Run() {
    for (const Node& node : graph_.nodes()) {
      ForEachPredecessor(graph_, node.id, [&](NodeId before) {
        if (!IsConst(before)) ++active_edges_[node.id];
      });
      if (IsOfOtherMode(node, options_.v2.is_training) || IsInsideLoop(node)) {
        Deactivate(node.id);
      }
    }
    while (!open_.empty()) {
      const NodeId id = open_.back();
      open_.pop_back();
      ForEachSuccessor(graph_, id, [&](NodeId after) { Visit(id, after); });
    }
    return std::move(is_active_);
  }

 private:
  bool IsConst(NodeId id) const { return graph_.node(id).op == kConst; }

  void Deactivate(NodeId id) {
    is_active_[id] = false;
    open_.push_back(id);
  }

  void Visit(NodeId before, NodeId after) {
    if (!IsConst(before)) --active_edges_[after];
    const Node& node = graph_.node(after);
    if (!is_active_[after] || node.op == "Merge" || node.op == "Switch") return;
    // The original looks for a variable in the wrong name.
    const bool quirk =
        options_.compat && node.name.find("Variable") != std::string::npos;
    if (active_edges_[after] == 0 || quirk) Deactivate(after);
  }

  const LmsOptions& options_;
  const Graph& graph_;
  IdMap<NodeId, bool> is_active_;
  IdMap<NodeId, int32_t> active_edges_;  // from active nodes except constants
  std::vector<NodeId> open_;
};

// One of the four pairs of scopes and types.
struct Filter {
  std::string_view name;  // "excl_output_by"
  const std::vector<std::string>& scopes;
  const std::vector<std::string>& types;

  bool is_given() const { return !scopes.empty() || !types.empty(); }
};

absl::Status NoSuchScope(const Filter& filter, std::string_view scope,
                         const Graph& graph) {
  return InvalidArgument(
      fmt::format("lms_{}_scopes: no node's name begins with \"{}\"; the "
                  "top-level scopes are: {}",
                  filter.name, scope, TopLevelScopes(graph)));
}

absl::Status CheckMatches(const Filter& filter, const Graph& graph) {
  for (const std::string& scope : filter.scopes) {
    if (std::ranges::none_of(graph.nodes(), [&](const Node& node) {
          return node.name.starts_with(scope);
        })) {
      return NoSuchScope(filter, scope, graph);
    }
  }
  for (const std::string& type : filter.types) {
    if (!IsNeverType(type) &&
        std::ranges::none_of(
            graph.nodes(), [&](const Node& node) { return node.op == type; })) {
      return InvalidArgument(fmt::format(
          "lms_{}_types: no node is of the op {}", filter.name, type));
    }
  }
  return absl::OkStatus();
}

bool Matches(const Filter& filter, const Node& node) {
  return std::ranges::any_of(
             filter.scopes,
             [&](const auto& scope) { return node.name.starts_with(scope); }) ||
         std::ranges::find(filter.types, node.op) != filter.types.end();
}

// The candidates that the two filters allow. Inclusion restricts, exclusion
// wins.
absl::StatusOr<IdMap<NodeId, bool>> Select(
    const Graph& graph, const IdMap<NodeId, bool>& candidates,
    const Filter& included, const Filter& excluded, bool compat) {
  SPILLWAY_RETURN_IF_ERROR(CheckMatches(included, graph));
  SPILLWAY_RETURN_IF_ERROR(CheckMatches(excluded, graph));
  IdMap<NodeId, bool> selected(graph.num_nodes(), false);
  bool any_left = !included.is_given();
  for (const Node& node : graph.nodes()) {
    const bool passes = (!included.is_given() || Matches(included, node)) &&
                        !(excluded.is_given() && Matches(excluded, node));
    any_left = any_left || passes;
    selected[node.id] = passes && candidates[node.id];
  }
  if (!any_left && !compat) {
    return InvalidArgument(
        fmt::format("lms_{0}_scopes, lms_{0}_types: leave no node of those "
                    "that lms_{1}_scopes and lms_{1}_types name",
                    excluded.name, included.name));
  }
  return selected;
}

}  // namespace

bool IsTrainable(const Node& node) {
  if (!IsVariable(node)) return false;
  const auto trainable = node.attributes.GetBool("trainable", true);
  return trainable.ok() && *trainable;
}

int64_t TrainableBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Node& node : graph.nodes()) {
    if (!IsTrainable(node)) continue;
    for (const ValueId value : node.outputs) {
      bytes += graph.type(value).num_bytes();
    }
  }
  return bytes;
}

bool IsSourceOfData(const Node& node) {
  return IsVariable(node) || node.op == kConst || node.op == kPlaceholder;
}

absl::StatusOr<V2Roles> FindV2Roles(const LmsOptions& options,
                                    const Graph& graph) {
  V2Roles roles;
  roles.is_active = ActivityFinder(options, graph).Run();
  roles.on_device = roles.is_active;
  IdMap<NodeId, bool> candidates(graph.num_nodes(), false);
  for (const Node& node : graph.nodes()) {
    if (node.placement == Placement::kHost) roles.on_device[node.id] = false;
    candidates[node.id] = roles.on_device[node.id] && !IsNeverType(node.op) &&
                          (options.compat || !IsNeverTypeByRuling(node.op));
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      roles.may_be_source,
      Select(graph, candidates,
             {"incl_output_by", options.v2.incl_output_by_scopes,
              options.v2.incl_output_by_types},
             {"excl_output_by", options.v2.excl_output_by_scopes,
              options.v2.excl_output_by_types},
             options.compat));
  SPILLWAY_ASSIGN_OR_RETURN(
      roles.may_be_reader,
      Select(graph, candidates,
             {"incl_input_by", options.v2.incl_input_by_scopes,
              options.v2.incl_input_by_types},
             {"excl_input_by", options.v2.excl_input_by_scopes,
              options.v2.excl_input_by_types},
             options.compat));
  return roles;
}

}  // namespace spillway
