// Hand-made plan-only training graphs, small enough to check on paper.
#ifndef SPILLWAY_TESTS_SUPPORT_SMALL_GRAPHS_H_
#define SPILLWAY_TESTS_SUPPORT_SMALL_GRAPHS_H_

#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace spillway::testing {

// 1 MiB, of rank 2.
inline TensorType DefaultType() {
  return {.dtype = DType::kFloat32, .shape = {256, 1024}};
}

// Appends a node that reads the values called `inputs` and has one output.
NodeId AddPlanNode(Graph& graph, std::string_view name, std::string_view op,
                   const std::vector<std::string_view>& inputs,
                   const TensorType& type = DefaultType());

// The example E1 of the LMS tables, 2 * length + 1 nodes:
//
//   F1 -> F2 -> F3 -> F4            op Fwd
//    |     |     |     |
//   B1 <- B2 <- B3 <- B4            opt/B4 ... opt/B1, op Bwd
//    |
//    U                              opt/U, op Update
Graph ChainGraph(int length = 4, const TensorType& type = DefaultType());

// Two branches that fork and join; each gradient reads its own node:
//
//        B
//      /   \                        A, B, C, D: op Fwd
//    A       D                      opt/D_grad, opt/B_grad, opt/C_grad,
//      \   /                        opt/A_grad: op Bwd
//        C                          opt/U: op Update
Graph DiamondGraph(const TensorType& type = DefaultType());

// relu2(x + conv2(relu1(conv1(x)))) in scope block/, with its gradients in
// opt/gradients/block/ and updates in opt/update/. ReLU gradients read the
// ReLU's output, convolution gradients the convolution's input.
Graph ResidualGraph(const TensorType& type = DefaultType());

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_SMALL_GRAPHS_H_
