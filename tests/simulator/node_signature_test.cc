#include "simulator/node_signature.h"

#include <set>
#include <string>

#include "graph/builder/builder.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

std::string SignatureOf(const Graph& graph, std::string_view name) {
  const std::optional<NodeId> node = graph.FindNode(name);
  EXPECT_TRUE(node.has_value()) << name;
  return node ? NodeSignature(graph, graph.node(*node)) : "";
}

// The signature of a node with these attributes that reads two values of
// `type`.
std::string SignatureWith(const Attributes& attributes,
                          const TensorType& type = {.dtype = DType::kFloat32,
                                                    .shape = {2, 3}}) {
  Graph graph;
  const NodeId x = graph.AddNode({.name = "x", .op = "X", .outputs = {type}});
  graph.AddNode({.name = "y",
                 .op = "Y",
                 .inputs = {graph.output(x), graph.output(x)},
                 .outputs = {type, {.dtype = DType::kInt32, .shape = {}}},
                 .attributes = attributes});
  return SignatureOf(graph, "y");
}

TEST(NodeSignatureTest, SaysOpAttributesAndTypes) {
  EXPECT_EQ(SignatureWith({{"strides", {1, 2}},
                           {"padding", "SAME"},
                           {"flag", true},
                           {"pairs", {{0, 1}, {2, 3}}}}),
            "Y{flag=true, padding=\"SAME\", pairs=[[0, 1], [2, 3]], "
            "strides=[1, 2]}(float32[2, 3], float32[2, 3]) -> float32[2, 3], "
            "int32[]");
  EXPECT_EQ(SignatureWith({}),
            "Y(float32[2, 3], float32[2, 3]) -> float32[2, 3], int32[]");
}

TEST(NodeSignatureTest, NumbersThatChangeNoWorkAreLeftOut) {
  const std::string plain = SignatureWith({});
  EXPECT_EQ(SignatureWith({{"rate", 0.5}, {"seed", 7}}), plain);
  EXPECT_EQ(SignatureWith({{"rate", 0.1}, {"seed", 8}}), plain);
  EXPECT_EQ(SignatureWith({{"trainable", true},
                           {"initializer", AttributeValue::Object()}}),
            plain);
}

TEST(NodeSignatureTest, WhateverChangesWorkMakesAnother) {
  const TensorType wide = {.dtype = DType::kFloat32, .shape = {2, 4}};
  const TensorType narrow = {.dtype = DType::kBFloat16, .shape = {2, 3}};
  const std::set<std::string> all = {SignatureWith({}),
                                     SignatureWith({}, wide),
                                     SignatureWith({}, narrow),
                                     SignatureWith({{"strides", {1, 1}}}),
                                     SignatureWith({{"strides", {2, 2}}}),
                                     SignatureWith({{"axis", 1}}),
                                     SignatureWith({{"axis", "1"}}),
                                     SignatureWith({{"keep", false}}),
                                     SignatureWith({{"keep", true}})};
  EXPECT_EQ(all.size(), 9U);
}

// conv1 and conv2 do equal work on different bytes; conv3 has other channels.
TEST(NodeSignatureTest, ConvolutionsOfEqualShapesShareOne) {
  GraphBuilder g(StandardOps());
  Tensor x = g.Placeholder("x", DType::kFloat32, {2, 8, 8, 4});
  for (const auto& [name, filters] :
       {std::pair{"conv1", 4}, std::pair{"conv2", 4}, std::pair{"conv3", 6}}) {
    const Tensor filter = g.Placeholder(std::string(name) + "/filter",
                                        DType::kFloat32, {filters, 3, 3, 4});
    x = g.Add(g, {.op = "Conv2D",
                  .inputs = {x, filter},
                  .attributes = {{"strides", {1, 1}}, {"padding", "SAME"}},
                  .name = name});
  }
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
  EXPECT_EQ(SignatureOf(graph, "conv1"), SignatureOf(graph, "conv2"));
  EXPECT_NE(SignatureOf(graph, "conv1"), SignatureOf(graph, "conv3"));
}

}  // namespace
}  // namespace spillway
