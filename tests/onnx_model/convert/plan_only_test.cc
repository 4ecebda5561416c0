#include "onnx_model/convert/plan_only.h"

#include <string>

#include "gmock/gmock.h"
#include "graph/builder/gradient.h"
#include "gtest/gtest.h"
#include "tests/onnx_model/is_refused.h"
#include "tests/onnx_model/make_model.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using spillway::testing::Import;
using spillway::testing::Imported;
using spillway::testing::InputText;
using spillway::testing::IntegersText;
using spillway::testing::IsRefused;
using spillway::testing::MakeModel;
using spillway::testing::OutputText;
using spillway::testing::WeightText;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// "value_info { name: .. }" as InputText writes it.
std::string StatedText(const std::string& name, const std::string& dims,
                       int type = 1) {
  return "value_info" +
         InputText(name, dims, type).substr(std::string("input").size());
}

Shape ShapeOf(const Imported& model, const std::string& node, int output = 0) {
  const auto id = model.graph.FindNode(node);
  if (!id.has_value()) return Shape();
  return model.graph.type(model.graph.output(*id, output)).shape;
}

// A node of another domain between two convolutions.
std::string Network() {
  return InputText("x", "[N, 3, 8, 8]") + OutputText("y") +
         WeightText("w1", {4, 3, 1, 1}) + WeightText("w2", {2, 4, 1, 1}) + R"(
    node { name: "c1" op_type: "Conv" input: "x" input: "w1" output: "a" }
    node { name: "own" op_type: "Thing" domain: "com.me" input: "a"
      output: "b" }
    node { name: "c2" op_type: "Conv" input: "b" input: "w2" output: "y" })";
}

TEST(PlanOnlyTest, ANodeHasTheShapeThatTheFileStatesWithTheBatchBound) {
  const std::string graph = Network() + StatedText("b", "[N, 4, 8, 8]");
  EXPECT_THAT(Import(MakeModel(graph)), IsRefused("com.me.Thing"));
  ASSERT_OK_AND_ASSIGN(
      const Imported model,
      Import(MakeModel(graph), {.batch_size = 5, .plan_only = true}));
  // It lies between convolutions, so it is channels-last as they are, and only
  // feed and fetch are transposed.
  EXPECT_EQ(ShapeOf(model, "own"), Shape({5, 8, 8, 4}));
  EXPECT_EQ(model.Count("Transpose"), 2);
  EXPECT_EQ(model.network.outputs[0].tensor.shape(), Shape({5, 2, 8, 8}));
  ASSERT_THAT(model.network.unsupported, SizeIs(1));
  const OnnxUnsupported& op = model.network.unsupported[0];
  EXPECT_EQ(op.op, "Thing");
  EXPECT_EQ(op.domain, "com.me");
  EXPECT_EQ(op.count, 1);
  EXPECT_EQ(op.first_node, "own");
}

TEST(PlanOnlyTest, AFixedBatchFollowsTheBatchSize) {
  const std::string graph = InputText("x", "[2, 3]") + OutputText("y") +
                            StatedText("y", "[2, 7]") +
                            R"(node { name: "n" op_type: "Later" input: "x"
                                       output: "y" })";
  ASSERT_OK_AND_ASSIGN(
      const Imported model,
      Import(MakeModel(graph), {.batch_size = 6, .plan_only = true}));
  EXPECT_EQ(ShapeOf(model, "n"), Shape({6, 7}));
}

TEST(PlanOnlyTest, ValuesWhoseShapeNobodyStatesAreNamedTogether) {
  const std::string graph = InputText("x", "[2, 3]") + OutputText("y") +
                            OutputText("z") + StatedText("z", "[unknown, 3]") +
                            R"(
    node { name: "n" op_type: "Unique" input: "x" output: "y" }
    node { name: "m" op_type: "Later" input: "x" output: "z" }
    node { name: "k" op_type: "Relu" input: "z" output: "v" })";
  EXPECT_THAT(Import(MakeModel(graph), {.plan_only = true}),
              IsRefused("not known: y of Unique n, z of Later m; "
                        "onnx.shape_inference"));
}

TEST(PlanOnlyTest, SomeOpsHaveAShapeByTheirRule) {
  const std::string graph =
      InputText("x", "[5, 2, 3]") + InputText("image", "[5, 2, 4, 4]") +
      InputText("grid", "[5, 6, 7, 2]") + OutputText("sum") +
      OutputText("states") + OutputText("last") + OutputText("best") +
      OutputText("places") + OutputText("sample") + IntegersText("axis", {0}) +
      IntegersText("k", {2}) + WeightText("w", {1, 16, 3}) +
      WeightText("r", {1, 16, 4}) + R"(
    node { name: "cumsum" op_type: "CumSum" input: "x" input: "axis"
      output: "sum" }
    node { name: "lstm" op_type: "LSTM" input: "x" input: "w" input: "r"
      output: "states" output: "last" }
    node { name: "top" op_type: "TopK" input: "x" input: "k" output: "best"
      output: "places" attribute { name: "axis" type: INT i: 0 } }
    node { name: "sampled" op_type: "GridSample" input: "image" input: "grid"
      output: "sample" })";
  ASSERT_OK_AND_ASSIGN(const Imported model,
                       Import(MakeModel(graph), {.plan_only = true}));
  EXPECT_EQ(ShapeOf(model, "cumsum"), Shape({5, 2, 3}));
  EXPECT_EQ(ShapeOf(model, "lstm"), Shape({5, 1, 2, 4}));
  EXPECT_EQ(ShapeOf(model, "lstm", 1), Shape({1, 2, 4}));
  EXPECT_EQ(ShapeOf(model, "top", 1), Shape({2, 2, 3}));
  EXPECT_EQ(model.network.outputs[4].tensor.dtype(), DType::kInt64);
  EXPECT_EQ(ShapeOf(model, "sampled"), Shape({5, 2, 6, 7}));
}

// An op of ours that cannot be as the node has it: its name is taken.
TEST(PlanOnlyTest, ANodeOfAKnownOpWhoseOutputWeDoNotComputeIsPlanned) {
  const std::string graph = InputText("x", "[2, 3, 4, 4]") + OutputText("y") +
                            OutputText("z") + StatedText("y", "[2, 3, 2, 2]") +
                            StatedText("z", "[2, 3, 2, 2]", 7) + R"(
    node { name: "pool" op_type: "MaxPool" input: "x" output: "y"
      output: "z" attribute { name: "kernel_shape" type: INTS ints: 2 ints: 2 }
      attribute { name: "strides" type: INTS ints: 2 ints: 2 } })";
  ASSERT_OK_AND_ASSIGN(const Imported model,
                       Import(MakeModel(graph), {.plan_only = true}));
  EXPECT_EQ(model.Count("OnnxMaxPool"), 1);
  EXPECT_EQ(model.network.unsupported[0].why, "its output z is read");
}

// No node is left of it that writes moving averages.
TEST(PlanOnlyTest, ABatchNormWhoseStatisticsAreReadIsPlannedAsAWhole) {
  std::string graph = InputText("x", "[2, 3, 4, 4]") + OutputText("y") +
                      OutputText("z") + StatedText("y", "[2, 3, 4, 4]") +
                      StatedText("z", "[3]");
  for (const char* name : {"s", "b", "m", "v"}) graph += WeightText(name, {3});
  graph += R"(node { name: "norm" op_type: "BatchNormalization" input: "x"
    input: "s" input: "b" input: "m" input: "v" output: "y" output: "z" })";
  EXPECT_THAT(Import(MakeModel(graph)),
              IsRefused("norm: its output z is read"));
  ASSERT_OK_AND_ASSIGN(const Imported model,
                       Import(MakeModel(graph), {.plan_only = true}));
  EXPECT_EQ(model.Count("BatchNormalization"), 1);
  EXPECT_EQ(model.Count("FusedBatchNorm"), 0);
}

TEST(PlanOnlyTest, ASupportedModelIsAsItWouldBeWithout) {
  const std::string graph = InputText("x", "[N, 3]") + OutputText("y") +
                            R"(node { name: "n" op_type: "Relu" input: "x"
                                       output: "y" })";
  ASSERT_OK_AND_ASSIGN(const Imported model,
                       Import(MakeModel(graph), {.plan_only = true}));
  EXPECT_THAT(model.network.unsupported, IsEmpty());
  EXPECT_THAT(RunFirstOutput(model), testing::IsOk());
}

TEST(PlanOnlyTest, ATrainingStepHasGradientsThroughIt) {
  const std::string graph =
      Network() + StatedText("b", "[N, 4, 8, 8]") +
      R"(node { op_type: "Flatten" input: "y" output: "f" })" + OutputText("f");
  ASSERT_OK_AND_ASSIGN(const OnnxModel model,
                       OnnxModel::Parse(MakeModel(graph), "model.onnx"));
  GraphBuilder g;
  ASSERT_OK_AND_ASSIGN(
      const OnnxNetwork net,
      model.AddTo(g, {.training = OnnxTrainingOptions{.output = "f"},
                      .plan_only = true}));
  EXPECT_THAT(net.notes, ElementsAre(::testing::HasSubstr("upper bound")));
  const Graph& graph_so_far = g.graph();
  const auto w1 = graph_so_far.FindNode("w1");
  ASSERT_TRUE(w1.has_value());
  const std::vector<Tensor> gradients =
      AddGradients(g.Scope("gradients"), net.loss,
                   std::vector{Tensor(&g, graph_so_far.output(*w1))});
  ASSERT_THAT(g.status(), testing::IsOk());
  EXPECT_EQ(gradients[0].shape(), Shape({4, 1, 1, 3}));
  EXPECT_TRUE(g.graph().FindNode("gradients/own/ThingGrad").has_value());
}

}  // namespace
}  // namespace spillway
