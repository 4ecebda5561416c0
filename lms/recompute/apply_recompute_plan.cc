#include "lms/recompute/apply_recompute_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/types_of.h"
#include "graph/well_known_ops.h"
#include "lms/added_nodes.h"
#include "lms/recompute/clonable.h"

namespace spillway {
namespace {

class Checker {
 public:
  Checker(const RecomputePlan& plan, const OpRegistry& ops, const Graph& graph)
      : plan_(plan), ops_(ops), graph_(graph) {}

  bool Holds() const {
    for (size_t i = 0; i < plan_.clones.size(); ++i) {
      if (!IsClone(plan_.clones[i], i)) return false;
    }
    return std::ranges::all_of(
        plan_.orders, [&](const RecomputePlan::Order& order) {
          return IsClone(order.before, plan_.clones.size()) &&
                 IsNode(order.after);
        });
  }

 private:
  bool IsNode(NodeId id) const {
    return id.is_valid() && id.index() < graph_.num_nodes();
  }
  bool AreNodes(const std::vector<NodeId>& ids) const {
    return std::ranges::all_of(ids, [&](NodeId id) { return IsNode(id); });
  }
  static bool IsClone(int32_t clone, size_t limit) {
    return clone >= 0 && static_cast<size_t>(clone) < limit;
  }

  int32_t NumOutputs(const Clone& clone) const {
    if (clone.derived_output >= 0) return 1;
    return static_cast<int32_t>(graph_.node(clone.original).outputs.size());
  }

  bool IsClone(const Clone& clone, size_t index) const {
    if (!IsNode(clone.original) || !AreNodes(clone.triggers)) return false;
    const Node& original = graph_.node(clone.original);
    if (clone.derived_output >= 0) {
      const auto num_outputs = static_cast<int32_t>(original.outputs.size());
      if (clone.derived_output >= num_outputs ||
          !DeriveOutput(graph_, original, clone.derived_output, ops_)) {
        return false;
      }
    }
    const auto is_input = [&](const CloneInput& input) {
      if (input.clone < 0) {
        return input.value.is_valid() &&
               input.value.index() < graph_.num_values();
      }
      if (!IsClone(input.clone, index)) return false;
      const Clone& read = plan_.clones[static_cast<size_t>(input.clone)];
      return input.output >= 0 && input.output < NumOutputs(read);
    };
    return std::ranges::all_of(clone.inputs, is_input) &&
           std::ranges::all_of(clone.readers, [&](const CloneReaders& readers) {
             return readers.output >= 0 && readers.output < NumOutputs(clone) &&
                    AreNodes(readers.readers);
           });
  }

  const RecomputePlan& plan_;
  const OpRegistry& ops_;
  const Graph& graph_;
};

NodeSpec SpecOf(const Clone& clone, const OpRegistry& ops, const Graph& graph) {
  const Node& original = graph.node(clone.original);
  NodeSpec spec = {.op = original.op,
                   .outputs = TypesOf(graph, original.outputs),
                   .attributes = original.attributes,
                   .placement = original.placement,
                   .cost = original.cost};
  if (clone.derived_output >= 0) {
    DerivedNode derived =
        *DeriveOutput(graph, original, clone.derived_output, ops);
    spec.op = std::move(derived.op);
    spec.attributes = std::move(derived.attributes);
    spec.outputs = {spec.outputs[static_cast<size_t>(clone.derived_output)]};
    spec.cost.reset();  // stated for the original's op
  }
  spec.name = AddedName(kClonePrefix, original.name, graph);
  return spec;
}

}  // namespace

absl::Status CheckIds(const RecomputePlan& plan, const OpRegistry& ops,
                      const Graph& graph) {
  if (Checker(plan, ops, graph).Holds()) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "the clones do not belong to {}: they name nodes, values or outputs that "
      "it lacks",
      graph.name()));
}

void ApplyRecomputePlan(const RecomputePlan& plan, const OpRegistry& ops,
                        Graph& graph) {
  std::vector<NodeId> added;
  for (const Clone& clone : plan.clones) {
    NodeSpec spec = SpecOf(clone, ops, graph);
    for (const CloneInput& input : clone.inputs) {
      spec.inputs.push_back(
          input.clone < 0
              ? input.value
              : graph.output(added[static_cast<size_t>(input.clone)],
                             input.output));
    }
    spec.control_inputs = clone.triggers;
    added.push_back(graph.AddNode(std::move(spec)));
  }
  for (size_t i = 0; i < plan.clones.size(); ++i) {
    const Clone& clone = plan.clones[i];
    for (const CloneReaders& readers : clone.readers) {
      const ValueId from =
          graph.output(clone.original, OriginalOutput(clone, readers.output));
      Reroute(readers.readers, from, graph.output(added[i], readers.output),
              graph);
    }
  }
  for (const RecomputePlan::Order& order : plan.orders) {
    graph.AddControlEdge(added[static_cast<size_t>(order.before)], order.after);
  }
}

}  // namespace spillway
