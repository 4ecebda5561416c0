// Ops and graphs for tests of recomputation: small, and with every rule.
#ifndef SPILLWAY_TESTS_LMS_RECOMPUTE_CLONE_OPS_H_
#define SPILLWAY_TESTS_LMS_RECOMPUTE_CLONE_OPS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/op_registry.h"
#include "tests/support/toy_ops.h"

namespace spillway::testing {

inline const TensorType kCloneType{.dtype = DType::kFloat32, .shape = {64}};

inline absl::StatusOr<std::vector<TensorType>> TypeOfInput(
    const InferContext& node) {
  return std::vector<TensorType>{node.inputs[0]};
}

// ToyOps, Pure (may run twice), Heavy (the same, with many flops), and Norm,
// whose first output Apply computes from its input and its second output. F is
// not registered.
inline OpRegistry CloneOps() {
  OpRegistry ops = ToyOps();
  ops.Add({.name = "Pure",
           .inputs = {"x", "y"},
           .outputs = {"z"},
           .optional_inputs = 1,
           .infer = TypeOfInput});
  ops.Add({.name = "Heavy",
           .inputs = {"x", "w"},
           .outputs = {"y"},
           .optional_inputs = 1,
           .infer = TypeOfInput,
           .cost = [](const OpContext& node) {
             const int64_t bytes = 2 * node.inputs[0].num_bytes();
             return OpCost{.flops = 100.0 * static_cast<double>(bytes),
                           .bytes = bytes};
           }});
  ops.Add({.name = "Apply",
           .inputs = {"x", "saved"},
           .outputs = {"y"},
           .attributes = {"activation"},
           .infer = TypeOfInput});
  ops.Add({.name = "Norm",
           .inputs = {"x"},
           .outputs = {"y", "saved"},
           .infer = [](const InferContext& node)
               -> absl::StatusOr<std::vector<TensorType>> {
             return std::vector<TensorType>{node.inputs[0], node.inputs[0]};
           },
           .recompute = RecomputeRule::kDerive,
           .derive = [](const OpContext&,
                        int output) -> std::optional<DerivedNode> {
             if (output != 0) return std::nullopt;
             return DerivedNode{
                 .op = "Apply",
                 .attributes = {{"activation", "relu"}},
                 .inputs = {{.index = 0}, {.is_output = true, .index = 1}}};
           }});
  return ops;
}

inline NodeId FindIn(const Graph& graph, std::string_view name) {
  return *graph.FindNode(name);
}

// "n" or, for another output than the first, "n:1".
inline ValueId OutputIn(const Graph& graph, std::string_view name) {
  return graph.FindValue(name).value();
}

inline NodeId AddTo(Graph& graph, const std::string& name,
                    const std::string& op,
                    const std::vector<std::string>& inputs,
                    const std::vector<std::string>& control_inputs = {}) {
  NodeSpec spec = {.name = name, .op = op, .outputs = {kCloneType}};
  if (op == "Norm") spec.outputs.push_back(kCloneType);
  for (const std::string& input : inputs) {
    spec.inputs.push_back(OutputIn(graph, input));
  }
  for (const std::string& input : control_inputs) {
    spec.control_inputs.push_back(FindIn(graph, input));
  }
  return graph.AddNode(std::move(spec));
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_LMS_RECOMPUTE_CLONE_OPS_H_
