#include "training/optimizer.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "gmock/gmock.h"
#include "graph/format/json_format.h"
#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "tests/support/eval_graph.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/training/dot.h"

namespace spillway {
namespace {

using testing::AddDot;
using ::testing::Contains;
using testing::Dot;
using ::testing::ElementsAre;
using testing::EvalGraph;
using testing::EvalState;
using testing::GradientAt;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::kSize;
using testing::MakeHostTensor;
using ::testing::Not;
using testing::StatusIs;
using testing::Values;

TEST(OptimizerTest, WeightDecayLeavesVectorsAlone) {
  GraphBuilder g(StandardOps());
  const Dot dot = AddDot(g, {kSize});
  Minimize(g.Scope("optimizer"), dot.loss, Sgd{.learning_rate = 0.1},
           {.weight_decay = 0.3});
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
  const TensorType type = {.dtype = DType::kFloat32, .shape = {kSize}};
  EvalState state;
  state.variables["w"] = MakeHostTensor(type, GradientAt(0));
  const std::map<ValueId, HostTensor> feeds = {
      {dot.c.id(), MakeHostTensor(type, std::vector<float>(kSize, 0))}};
  ASSERT_THAT(EvalGraph(graph, feeds, {}, state), IsOk());
  EXPECT_EQ(state.variables["w"].bytes,
            MakeHostTensor(type, GradientAt(0)).bytes);
}

TEST(OptimizerTest, AScaleOfOneLeavesTheGraphAsItIs) {
  std::vector<std::string> texts;
  for (const MinimizeOptions& options :
       {MinimizeOptions{}, MinimizeOptions{.loss_scale = 1},
        MinimizeOptions{.loss_scale = 8}}) {
    GraphBuilder g(StandardOps());
    const Dot dot = AddDot(g, {2, 3});
    Minimize(g.Scope("sgd"), dot.loss, Sgd(), options);
    ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
    texts.push_back(FormatGraph(graph));
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_THAT(texts[0], Not(HasSubstr("gradient_scale")));
  EXPECT_THAT(texts[2], HasSubstr("\"gradient_scale\":0.125"));
}

TEST(OptimizerTest, ALossScaleMustBePositiveAndFinite) {
  for (const double scale : {0.0, -2.0, 1e300, 1e-300, 1e-44,
                             std::numeric_limits<double>::quiet_NaN()}) {
    GraphBuilder g(StandardOps());
    const Dot dot = AddDot(g, {2, 3});
    Minimize(g.Scope("sgd"), dot.loss, Sgd(), {.loss_scale = scale});
    EXPECT_THAT(std::move(g).Build(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("a loss scale must be positive")))
        << scale;
  }
}

TEST(OptimizerTest, RatesAndDecaysMustNotBeNegative) {
  for (const double bad : {-0.1, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    const auto build = [](const Optimizer& rule, const MinimizeOptions& how) {
      GraphBuilder g(StandardOps());
      const Dot dot = AddDot(g, {2, 3});
      Minimize(g.Scope("sgd"), dot.loss, rule, how);
      return std::move(g).Build().status();
    };
    EXPECT_THAT(build(Adam{.learning_rate = bad}, {}),
                StatusIs(kInvalid, HasSubstr("sgd: a learning rate must be")))
        << bad;
    EXPECT_THAT(build(Sgd(), {.weight_decay = bad}),
                StatusIs(kInvalid, HasSubstr("sgd: a weight decay must be")))
        << bad;
    EXPECT_THAT(build(AdamW{.weight_decay = bad}, {}),
                StatusIs(kInvalid, HasSubstr("sgd: a weight decay must be")))
        << bad;
  }
}

TEST(OptimizerTest, ASecondMinimizeIsRefusedAndNamesBothScopes) {
  for (const char* second : {"optimizer", "other"}) {
    GraphBuilder g;
    const Dot dot = AddDot(g, {2, 3});
    Minimize(g.Scope("optimizer"), dot.loss, Sgd());
    ASSERT_THAT(g.status(), IsOk());
    Minimize(g.Scope(second), dot.loss, Sgd());
    EXPECT_THAT(std::move(g).Build(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         fmt::format("{}: w is updated already, by "
                                     "optimizer/update/w/ApplyGradientDescent: "
                                     "minimize the sum of the losses instead",
                                     second)));
  }
}

TEST(OptimizerTest, TwoNetworksWithoutACommonVariableAreTrainedByTwo) {
  GraphBuilder g;
  std::vector<Tensor> losses;
  for (const char* name : {"a", "b"}) {
    const Tensor x =
        g.Placeholder(fmt::format("{}_x", name), DType::kFloat32, {4, 3});
    const Tensor y = Dense(g.Scope(name), x, {.units = 3});
    losses.push_back(MeanSquaredDistance(g.Scope(name), y, x));
  }
  Minimize(g.Scope("first"), losses[0], Momentum());
  Minimize(g.Scope("second"), losses[1], Adam());
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
  EXPECT_TRUE(graph.FindNode("first/update/a/weights/ApplyMomentum"));
  EXPECT_TRUE(graph.FindNode("second/update/b/weights/ApplyAdam"));
  EXPECT_FALSE(graph.FindNode("second/update/a/weights/ApplyAdam"));
}

TEST(OptimizerTest, MinimizeAfterBuildDoesNothing) {
  GraphBuilder g;
  const Dot dot = AddDot(g, {2, 3});
  ASSERT_THAT(std::move(g).Build(), IsOk());
  Minimize(g.Scope("optimizer"), dot.loss, Momentum());
  EXPECT_THAT(std::move(g).Build(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has been built")));
}

TEST(OptimizerTest, TheLossOfAnotherBuilderIsRefused) {
  GraphBuilder other;
  const Dot dot = AddDot(other, {2, 3});
  for (const Tensor loss : {dot.loss, Tensor()}) {
    GraphBuilder g;
    AddDot(g, {2, 3});
    Minimize(g.Scope("optimizer"), loss, Momentum());
    EXPECT_THAT(std::move(g).Build(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("the loss is not a tensor of this graph")));
  }
}

TEST(OptimizerTest, TheLearningRateCanBeFed) {
  GraphBuilder g(StandardOps());
  const Dot dot = AddDot(g, {kSize});
  const Tensor rate = g.Placeholder("learning_rate", DType::kFloat32, Shape());
  Minimize(g.Scope("optimizer"), dot.loss, Sgd(), {.learning_rate_feed = rate});
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
  const TensorType type = {.dtype = DType::kFloat32, .shape = {kSize}};
  const TensorType scalar = {.dtype = DType::kFloat32, .shape = Shape()};
  EvalState state;
  state.variables["w"] = MakeHostTensor(type, std::vector<float>(kSize, 1));
  for (const float value : {0.5f, 0.25f}) {
    const std::map<ValueId, HostTensor> feeds = {
        {dot.c.id(), MakeHostTensor(type, std::vector<float>(kSize, 1))},
        {rate.id(), MakeHostTensor<float>(scalar, {value})}};
    ASSERT_THAT(EvalGraph(graph, feeds, {}, state), IsOk());
  }
  EXPECT_THAT(Values(state.variables["w"]), ::testing::Each(0.25));
}

// Names of the nodes under `prefix`, in order of creation.
std::vector<std::string> NamesUnder(const Graph& graph,
                                    const std::string& prefix) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.name.starts_with(prefix)) names.push_back(node.name);
  }
  return names;
}

TEST(OptimizerTest, NamesSayWhatBelongsToTheOptimizer) {
  GraphBuilder g(StandardOps());
  const Dot dot = AddDot(g, {2, 3});
  Minimize(g.Scope("adam"), dot.loss, Adam());
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
  EXPECT_THAT(NamesUnder(graph, "adam/slots/"),
              ElementsAre("adam/slots/w/m", "adam/slots/w/v",
                          "adam/slots/w/beta_power"));
  EXPECT_THAT(NamesUnder(graph, "adam/update/"),
              ElementsAre("adam/update/w/ApplyAdam"));
  EXPECT_THAT(NamesUnder(graph, "adam/gradients/product/"),
              ::testing::Not(::testing::IsEmpty()));
  for (const std::string& slot : NamesUnder(graph, "adam/slots/")) {
    const Node& node = graph.node(*graph.FindNode(slot));
    EXPECT_EQ(node.op, "Variable");
    EXPECT_FALSE(*node.attributes.GetBool("trainable"));
  }
}

TEST(OptimizerTest, EveryOtherReaderRunsBeforeTheUpdate) {
  GraphBuilder g(StandardOps());
  const Dot dot = AddDot(g, {2, 3});
  // In addition to the loss: a direct reader, and a reader through an alias.
  g.Add(g, {.op = "Relu", .inputs = {dot.w}, .name = "direct"});
  const Tensor view = g.Add(g, {.op = "Reshape",
                                .inputs = {dot.w},
                                .attributes = {{"shape", Shape{6}}},
                                .name = "view"});
  g.Add(g, {.op = "Relu", .inputs = {view}, .name = "by_view"});
  Minimize(g.Scope("sgd"), dot.loss, Sgd());
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
  const Node& update =
      graph.node(*graph.FindNode("sgd/update/w/ApplyGradientDescent"));
  std::vector<std::string> before;
  for (const NodeId id : update.control_inputs) {
    before.push_back(graph.node(id).name);
  }
  for (const char* reader : {"product", "direct", "view", "by_view"}) {
    EXPECT_THAT(before, Contains(reader));
  }
}

// Its node would read the variable but have no output to wait for.
TEST(OptimizerTest, AnOpThatInfersNoOutputsIsAnErrorOfTheBuilder) {
  OpRegistry ops = StandardOps();
  ops.Add({.name = "Print",
           .inputs = {"x"},
           .outputs = {"y"},
           .infer = [](const InferContext&)
               -> absl::StatusOr<std::vector<TensorType>> {
             return std::vector<TensorType>();
           }});
  GraphBuilder g(ops);
  const Dot dot = AddDot(g, {2, 3});
  g.AddAll(g, {.op = "Print", .inputs = {dot.w}});
  Minimize(g.Scope("sgd"), dot.loss, Sgd());
  EXPECT_THAT(std::move(g).Build(),
              StatusIs(absl::StatusCode::kInternal,
                       "Print: the shape inference of Print returns 0 types; "
                       "it has 1 output here"));
}

TEST(OptimizerTest, VariablesOutsideTheLossStayAsTheyAre) {
  GraphBuilder g(StandardOps());
  AddVariable(g, {.name = "unused", .shape = {4}});
  AddVariable(g, {.name = "frozen", .shape = {4}, .trainable = false});
  const Dot dot = AddDot(g, {2, 3});
  Minimize(g.Scope("sgd"), dot.loss, Sgd());
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());
  EXPECT_THAT(NamesUnder(graph, "sgd/update/"),
              ElementsAre("sgd/update/w/ApplyGradientDescent"));
}

TEST(OptimizerTest, NothingToTrainIsAnError) {
  GraphBuilder g(StandardOps());
  const Tensor c = g.Placeholder("c", DType::kFloat32, Shape());
  Minimize(g.Scope("sgd"), c, Sgd());
  EXPECT_THAT(std::move(g).Build(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("sgd: the loss depends on no trainable")));
}

TEST(OptimizerTest, ALossMustBeAScalar) {
  GraphBuilder g(StandardOps());
  const Dot dot = AddDot(g, {2, 3});
  Minimize(g.Scope("sgd"), dot.w, Sgd());
  EXPECT_THAT(std::move(g).Build(), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("float32 scalar")));
}

TEST(OptimizerTest, NamesAreParsed) {
  EXPECT_TRUE(std::holds_alternative<Sgd>(*ParseOptimizer("sgd")));
  EXPECT_TRUE(std::holds_alternative<Momentum>(*ParseOptimizer("momentum")));
  EXPECT_TRUE(std::holds_alternative<Adam>(*ParseOptimizer("adam")));
  EXPECT_TRUE(std::holds_alternative<RmsProp>(*ParseOptimizer("rmsprop")));
  EXPECT_TRUE(std::holds_alternative<Lars>(*ParseOptimizer("lars")));
  EXPECT_TRUE(std::holds_alternative<AdaGrad>(*ParseOptimizer("adagrad")));
  EXPECT_TRUE(std::holds_alternative<AdamW>(*ParseOptimizer("adamw")));
  EXPECT_FALSE(std::get<Velocity>(*ParseOptimizer("velocity")).use_nesterov);
  EXPECT_TRUE(std::get<Velocity>(*ParseOptimizer("nesterov")).use_nesterov);
  EXPECT_THAT(ParseOptimizer("lion"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'lion'; known: sgd momentum velocity")));
}

// A program as a user writes it: no registry, id or pointer.
TEST(OptimizerTest, AModelIsBuiltAndTrainedWithTensorsAlone) {
  GraphBuilder g;
  const Tensor images = g.Placeholder("images", DType::kFloat32, {8, 8, 8, 1});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {8});
  Tensor x =
      Conv2D(g.Scope("conv1"), images,
             {.filters = 4, .kernel = {5, 5}, .activation = Activation::kRelu});
  x = MaxPool(g.Scope("pool1"), x, {.window = {2, 2}, .strides = {2, 2}});
  const Tensor logits =
      Dense(g.Scope("fc"), Flatten(g.Scope("flat"), x), {.units = 10});
  const Tensor loss =
      SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, labels);
  Minimize(g.Scope("optimizer"), loss, Momentum{.learning_rate = 0.01});
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g).Build());

  const std::vector<ValueId> fetches = {loss};
  const std::vector<float> pixels = [] {
    std::vector<float> values(8 * 8 * 8);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(NormalAt(1, i));
    }
    return values;
  }();
  const std::map<ValueId, HostTensor> feeds = {
      {images, MakeHostTensor(images.type(), pixels)},
      {labels,
       MakeHostTensor<int32_t>(labels.type(), {0, 1, 2, 3, 4, 5, 6, 7})}};
  EvalState state;
  std::vector<float> losses;
  for (int step = 0; step < 30; ++step) {
    ASSERT_OK_AND_ASSIGN(const auto values,
                         EvalGraph(graph, feeds, fetches, state));
    losses.push_back(*values.at(loss).data<float>());
  }
  EXPECT_LT(losses.back(), losses.front() / 2);
}

}  // namespace
}  // namespace spillway
