#include "graph/format/dot.h"

#include "gtest/gtest.h"

namespace spillway {
namespace {

TEST(DotTest, ColoursTheWayOfASwappedTensor) {
  Graph graph("tiny");
  const TensorType type = {.dtype = DType::kFloat32, .shape = {2}};
  const NodeId f = graph.AddNode({.name = "F", .op = "Fwd", .outputs = {type}});
  const NodeId out = graph.AddNode({.name = "lms/swapout_F",
                                    .op = "SwapOut",
                                    .inputs = {graph.output(f)},
                                    .outputs = {type},
                                    .placement = Placement::kHost});
  const NodeId in = graph.AddNode({.name = "lms/swapin_F",
                                   .op = "SwapIn",
                                   .inputs = {graph.output(out)},
                                   .control_inputs = {f},
                                   .outputs = {type},
                                   .placement = Placement::kHost});
  graph.AddNode({.name = "B", .op = "Bwd", .inputs = {graph.output(in)}});
  EXPECT_EQ(FormatDot(graph), R"(digraph "tiny" {
  node [shape=box];
  n0 [label="F\nFwd"];
  n1 [label="lms/swapout_F\nSwapOut", style=filled, fillcolor=orange];
  n2 [label="lms/swapin_F\nSwapIn", style=filled, fillcolor=skyblue];
  n3 [label="B\nBwd"];
  n0 -> n1 [label="float32[2]", color=orange];
  n1 -> n2 [label="float32[2]", color=orange];
  n0 -> n2 [style=dashed];
  n2 -> n3 [label="float32[2]", color=skyblue];
}
)");
}

TEST(DotTest, ClonesAreGreen) {
  Graph graph("tiny");
  graph.AddNode({.name = "lms/recompute_F", .op = "Fwd"});
  EXPECT_EQ(FormatDot(graph), R"(digraph "tiny" {
  node [shape=box];
  n0 [label="lms/recompute_F\nFwd", style=filled, fillcolor=palegreen];
}
)");
}

TEST(DotTest, NamesAreEscaped) {
  Graph graph("say \"hi\"");
  graph.AddNode({.name = R"(a\"b)", .op = "Op"});
  EXPECT_EQ(FormatDot(graph), R"(digraph "say \"hi\"" {
  node [shape=box];
  n0 [label="a\\\"b\nOp"];
}
)");
}

}  // namespace
}  // namespace spillway
