#include "tests/support/small_graphs.h"

#include <fmt/format.h>

#include <string>

#include "base/check.h"

namespace spillway::testing {

NodeId AddPlanNode(Graph& graph, std::string_view name, std::string_view op,
                   const std::vector<std::string_view>& inputs,
                   const TensorType& type) {
  NodeSpec spec = {
      .name = std::string(name), .op = std::string(op), .outputs = {type}};
  for (const std::string_view input : inputs) {
    const absl::StatusOr<ValueId> value = graph.FindValue(input);
    SPILLWAY_CHECK(value.ok());
    spec.inputs.push_back(*value);
  }
  return graph.AddNode(std::move(spec));
}

Graph ChainGraph(int length, const TensorType& type) {
  Graph graph("chain");
  const auto forward = [](int i) { return fmt::format("F{}", i); };
  const auto backward = [](int i) { return fmt::format("opt/B{}", i); };
  AddPlanNode(graph, "F1", "Fwd", {}, type);
  for (int i = 2; i <= length; ++i) {
    AddPlanNode(graph, forward(i), "Fwd", {forward(i - 1)}, type);
  }
  AddPlanNode(graph, backward(length), "Bwd", {forward(length)}, type);
  for (int i = length - 1; i >= 1; --i) {
    AddPlanNode(graph, backward(i), "Bwd", {backward(i + 1), forward(i)}, type);
  }
  AddPlanNode(graph, "opt/U", "Update", {"opt/B1"}, type);
  return graph;
}

Graph DiamondGraph(const TensorType& type) {
  Graph graph("diamond");
  AddPlanNode(graph, "A", "Fwd", {}, type);
  AddPlanNode(graph, "B", "Fwd", {"A"}, type);
  AddPlanNode(graph, "C", "Fwd", {"A"}, type);
  AddPlanNode(graph, "D", "Fwd", {"B", "C"}, type);
  AddPlanNode(graph, "opt/D_grad", "Bwd", {"D"}, type);
  AddPlanNode(graph, "opt/B_grad", "Bwd", {"opt/D_grad", "B"}, type);
  AddPlanNode(graph, "opt/C_grad", "Bwd", {"opt/D_grad", "C"}, type);
  AddPlanNode(graph, "opt/A_grad", "Bwd", {"opt/B_grad", "opt/C_grad", "A"},
              type);
  AddPlanNode(graph, "opt/U", "Update", {"opt/A_grad"}, type);
  return graph;
}

Graph ResidualGraph(const TensorType& type) {
  const TensorType filter = {.dtype = DType::kFloat32, .shape = {64, 64}};
  Graph graph("residual");
  const auto add = [&](std::string_view name, std::string_view op,
                       const std::vector<std::string_view>& inputs) {
    AddPlanNode(graph, name, op, inputs, type);
  };
  add("x", "Input", {});
  AddPlanNode(graph, "block/filter1", "Weights", {}, filter);
  AddPlanNode(graph, "block/filter2", "Weights", {}, filter);
  add("block/conv1", "Conv", {"x", "block/filter1"});
  add("block/relu1", "Activation", {"block/conv1"});
  add("block/conv2", "Conv", {"block/relu1", "block/filter2"});
  add("block/add", "Sum", {"x", "block/conv2"});
  add("block/relu2", "Activation", {"block/add"});
  add("loss", "Loss", {"block/relu2"});

  const std::string_view relu2_grad = "opt/gradients/block/relu2";
  const std::string_view relu1_grad = "opt/gradients/block/relu1";
  add("opt/gradients/loss", "LossGrad", {"loss", "block/relu2"});
  add(relu2_grad, "ActivationGrad", {"opt/gradients/loss", "block/relu2"});
  AddPlanNode(graph, "opt/gradients/block/conv2_filter", "ConvFilterGrad",
              {"block/relu1", relu2_grad}, filter);
  add("opt/gradients/block/conv2", "ConvGrad", {"block/filter2", relu2_grad});
  add(relu1_grad, "ActivationGrad",
      {"opt/gradients/block/conv2", "block/relu1"});
  AddPlanNode(graph, "opt/gradients/block/conv1_filter", "ConvFilterGrad",
              {"x", relu1_grad}, filter);
  AddPlanNode(graph, "opt/update/filter2", "Update",
              {"block/filter2", "opt/gradients/block/conv2_filter"}, filter);
  AddPlanNode(graph, "opt/update/filter1", "Update",
              {"block/filter1", "opt/gradients/block/conv1_filter"}, filter);
  return graph;
}

}  // namespace spillway::testing
