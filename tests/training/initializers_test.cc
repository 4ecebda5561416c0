#include "training/initializers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "executor/session/initializer.h"
#include "executor/session/resident_values.h"
#include "graph/builder/builder.h"
#include "models/layers/layers.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::StatusIs;

using Rule = InitializerRule;
using Object = AttributeValue::Object;

NodeId AddVariable(Graph& graph, const std::string& name, const Shape& shape,
                   bool trainable = true) {
  return graph.AddNode(
      {.name = name,
       .op = "Variable",
       .outputs = {{.shape = shape}},
       .attributes = {
           {"dtype", DType::kFloat32},
           {"shape", shape},
           {"initializer", Object{{"kind", "constant"}, {"value", 7}}},
           {"trainable", trainable}}});
}

Object InitializerOf(const Graph& graph, std::string_view name) {
  const Node& node = graph.node(*graph.FindNode(name));
  return node.attributes.GetObject("initializer")->items();
}

// The distribution of weights of this shape.
InitialDistribution Weights(const InitializerOptions& options,
                            const Shape& shape) {
  Graph graph;
  const NodeId id = AddVariable(graph, "weights", shape);
  EXPECT_THAT(SetInitializers(options, graph), IsOk());
  return *ReadInitializer(graph.node(id).attributes, {.shape = shape});
}

double UniformLimit(const InitialDistribution& weights) {
  EXPECT_EQ(weights.kind, InitialDistribution::Kind::kUniform);
  EXPECT_DOUBLE_EQ(weights.spread, -2 * weights.center);
  return -weights.center;
}

double NormalStddev(const InitialDistribution& weights) {
  EXPECT_EQ(weights.kind, InitialDistribution::Kind::kNormal);
  EXPECT_EQ(weights.center, 0);
  return weights.spread;
}

constexpr InitializerOptions kXavierInTwo = {
    .rule = Rule::kXavier,
    .scale = 2,
    .factor = FanFactor::kIn,
    .numbers = InitializerNumbers::kGaussian};

// MXNet's (64, 3, 7, 7): fans 147 and 3136.
TEST(Initializers, GiveAFilterTheScalesOfMxnet) {
  const Shape filter = {64, 7, 7, 3};
  EXPECT_NEAR(UniformLimit(Weights({.rule = Rule::kXavier}, filter)),
              0.0427504001, 1e-10);
  EXPECT_NEAR(NormalStddev(Weights({.rule = Rule::kMsra}, filter)),
              0.0338633629, 1e-10);
  EXPECT_NEAR(NormalStddev(Weights(kXavierInTwo, filter)), 0.1166423687, 1e-10);
}

// MXNet's (10, 500): fans 500 and 10.
TEST(Initializers, GiveAMatrixTheScalesOfMxnet) {
  const Shape matrix = {500, 10};
  EXPECT_NEAR(UniformLimit(Weights({.rule = Rule::kXavier}, matrix)),
              0.1084652289, 1e-10);
  EXPECT_NEAR(NormalStddev(Weights({.rule = Rule::kMsra}, matrix)),
              0.0859172639, 1e-10);
  EXPECT_NEAR(NormalStddev(Weights(kXavierInTwo, matrix)), 0.0632455532, 1e-10);
}

TEST(Initializers, TakeScaleAndFactor) {
  const Shape matrix = {500, 10};
  EXPECT_NEAR(
      UniformLimit(Weights(
          {.rule = Rule::kXavier, .scale = 6, .factor = FanFactor::kOut},
          matrix)),
      std::sqrt(6.0 / 10), 1e-12);
  EXPECT_NEAR(
      NormalStddev(Weights(
          {.rule = Rule::kMsra, .scale = 0, .factor = FanFactor::kIn}, matrix)),
      std::sqrt(2.0 / 500), 1e-12);
  EXPECT_EQ(UniformLimit(Weights({.rule = Rule::kUniform}, matrix)), 0.07);
  EXPECT_EQ(UniformLimit(Weights({.rule = Rule::kUniform, .scale = 2}, matrix)),
            2);
  EXPECT_EQ(NormalStddev(Weights({.rule = Rule::kNormal}, matrix)), 0.01);
  EXPECT_EQ(NormalStddev(Weights({.rule = Rule::kNormal, .scale = 3}, matrix)),
            3);
}

TEST(Initializers, MakeOrthogonalMatrices) {
  const InitialDistribution usual =
      Weights({.rule = Rule::kOrthogonal}, {8, 3, 3, 4});
  EXPECT_EQ(usual.kind, InitialDistribution::Kind::kOrthogonal);
  EXPECT_EQ(usual.spread, 1.414);
  EXPECT_FALSE(usual.from_normal);
  const InitialDistribution chosen =
      Weights({.rule = Rule::kOrthogonal,
               .scale = 1,
               .numbers = InitializerNumbers::kGaussian},
              {8, 4});
  EXPECT_EQ(chosen.spread, 1);
  EXPECT_TRUE(chosen.from_normal);
}

TEST(Initializers, MakeConstants) {
  EXPECT_EQ(Weights({.rule = Rule::kZero}, {4}).center, 0);
  EXPECT_EQ(Weights({.rule = Rule::kOne}, {4}).center, 1);
  EXPECT_EQ(Weights({.rule = Rule::kConstant, .scale = -0.5}, {4}).center,
            -0.5);
}

// Mean and standard deviation within 4 standard errors of their own.
TEST(Initializers, DrawNumbersOfTheStatedMoments) {
  const Shape shape = {64, 7, 7, 40};
  struct Case {
    InitializerOptions options;
    double stddev = 0;
    double kurtosis = 3;
  };
  const double fans = (40 * 49 + 64 * 49) / 2.0;
  for (const Case& expected :
       {Case{.options = {.rule = Rule::kUniform},
       .stddev = 0.07 / std::sqrt(3.0),
       .kurtosis = 1.8},
        Case{.options = {.rule = Rule::kNormal}, .stddev = 0.01},
        Case{.options = {.rule = Rule::kXavier},
        .stddev = std::sqrt(1 / fans),
        .kurtosis = 1.8},
        Case{.options = {.rule = Rule::kMsra},
        .stddev = std::sqrt(2 / 1.0625 / fans)}}) {
    Graph graph;
    const NodeId id = AddVariable(graph, "weights", shape);
    ASSERT_THAT(SetInitializers(expected.options, graph), IsOk());
    const TensorType type = {.shape = shape};
    std::vector<float> values(static_cast<size_t>(type.num_elements()));
    ASSERT_THAT(FillResident(graph, id, 5, values.data()), IsOk());
    const auto n = static_cast<double>(values.size());
    double mean = 0;
    double square = 0;
    for (const double x : values) {
      mean += x / n;
      square += x * x / n;
    }
    const double stddev = std::sqrt(square - mean * mean);
    EXPECT_LT(std::abs(mean), 4 * expected.stddev / std::sqrt(n));
    EXPECT_LT(
        std::abs(stddev - expected.stddev),
        4 * expected.stddev * std::sqrt((expected.kurtosis - 1) / (4 * n)));
  }
}

TEST(Initializers, SetEveryRoleByTheEndingOfItsName) {
  Graph graph;
  for (const char* name : {"conv/weights", "conv.weight", "fc1_weight"}) {
    AddVariable(graph, name, {4, 4});
  }
  for (const char* name : {"conv/biases", "conv.bias", "bn/offset", "bn_beta",
                           "bn/scale", "bn.gamma"}) {
    AddVariable(graph, name, {4});
  }
  for (const char* name : {"bn/moving_mean", "bn.running_mean",
                           "bn/moving_variance", "bn.running_var"}) {
    AddVariable(graph, name, {4}, /*trainable=*/false);
  }
  ASSERT_THAT(SetInitializers({.rule = Rule::kNormal}, graph), IsOk());
  const auto kind = [&graph](const char* name) {
    return InitializerOf(graph, name).at("kind");
  };
  for (const char* name : {"conv/weights", "conv.weight", "fc1_weight"}) {
    EXPECT_EQ(kind(name), "normal") << name;
  }
  for (const char* name : {"conv/biases", "conv.bias", "bn/offset", "bn_beta",
                           "bn/moving_mean", "bn.running_mean"}) {
    EXPECT_EQ(kind(name), "zeros") << name;
  }
  for (const char* name :
       {"bn/scale", "bn.gamma", "bn/moving_variance", "bn.running_var"}) {
    EXPECT_EQ(kind(name), "ones") << name;
  }
}

// The last variable looks like a bias, but is not trainable.
TEST(Initializers, LeaveSlotsAndFixedVariablesAsTheyAre) {
  GraphBuilder g;
  const Tensor x = g.Placeholder("x", DType::kFloat32, {2, 8, 8, 3});
  Tensor y = Conv2D(g.Scope("conv"), x, {.filters = 4, .kernel = {3, 3}});
  y = BatchNorm(g.Scope("bn"), y, {.scale = false});
  y = Dense(g.Scope("fc"), Flatten(g.Scope("flatten"), y), {.units = 2});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {2});
  Minimize(g.Scope("adam"),
           SparseSoftmaxCrossEntropy(g.Scope("loss"), y, labels), Adam());
  ASSERT_OK_AND_ASSIGN(Graph graph, std::move(g).Build());
  AddVariable(graph, "adam/slots/conv/weights/bias", {4}, /*trainable=*/false);
  const Graph before = graph;
  ASSERT_THAT(SetInitializers({.rule = Rule::kOrthogonal}, graph), IsOk());
  int changed = 0;
  for (const Node& node : graph.nodes()) {
    if (node.attributes == before.node(node.id).attributes) continue;
    ++changed;
    EXPECT_EQ(node.name.find("slots"), std::string::npos) << node.name;
    EXPECT_NE(node.name, "bn/scale");
  }
  EXPECT_EQ(changed, 7);  // 2 weights, 2 biases, offset, mean, variance
  EXPECT_EQ(InitializerOf(graph, "conv/weights").at("kind"), "orthogonal");
  EXPECT_EQ(InitializerOf(graph, "fc/weights").at("kind"), "orthogonal");
}

TEST(Initializers, KnowTheVariablesOfEveryModel) {
  for (const ModelSpec& model : Zoo()) {
    GraphBuilder g;
    ASSERT_THAT(BuildModel(g, model.name, {}), IsOk());
    ASSERT_OK_AND_ASSIGN(Graph graph, std::move(g).Build());
    EXPECT_THAT(SetInitializers({.rule = Rule::kXavier}, graph), IsOk())
        << model.name;
  }
}

TEST(Initializers, OfTheDefaultRuleChangeNothing) {
  Graph graph;
  const NodeId id = AddVariable(graph, "anything", {4});
  const Attributes before = graph.node(id).attributes;
  ASSERT_THAT(SetInitializers({}, graph), IsOk());
  EXPECT_EQ(graph.node(id).attributes, before);
}

TEST(Initializers, RefuseNamesWithoutARoleAndChangeNothing) {
  Graph graph;
  const NodeId weights = AddVariable(graph, "weights", {4, 4});
  AddVariable(graph, "loss/rescale", {4});
  const Attributes before = graph.node(weights).attributes;
  EXPECT_THAT(
      SetInitializers({.rule = Rule::kNormal}, graph),
      StatusIs(kInvalid,
               AllOf(HasSubstr("loss/rescale: a trainable variable"),
                     HasSubstr("weights weight biases bias scale gamma"))));
  EXPECT_EQ(graph.node(weights).attributes, before);
}

TEST(Initializers, RefuseVectorsThatNeedToBeMatrices) {
  Graph graph;
  AddVariable(graph, "fc/weights", {4});
  for (const Rule rule : {Rule::kXavier, Rule::kMsra, Rule::kOrthogonal}) {
    EXPECT_THAT(SetInitializers({.rule = rule}, graph),
                StatusIs(kInvalid, AllOf(HasSubstr("fc/weights: "),
                                         HasSubstr("needs 2 dimensions or "
                                                   "more, not 1"))));
  }
  EXPECT_THAT(SetInitializers({.rule = Rule::kUniform}, graph), IsOk());
}

TEST(Initializers, RefuseValuesThatTheTypeCannotHold) {
  Graph graph;
  AddVariable(graph, "fc/weights", {4, 4});
  EXPECT_THAT(SetInitializers({.rule = Rule::kConstant, .scale = 1e300}, graph),
              StatusIs(kInvalid, AllOf(HasSubstr("fc/weights"),
                                       HasSubstr("1e+300 is not a float32"))));
}

TEST(Initializers, RefuseOptionsThatMakeNoSense) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    InitializerOptions options;
    std::string error;
  };
  for (const Case& bad :
       {Case{.options = {.rule = Rule::kUniform, .scale = -1},
       .error = "initializer uniform: scale is -1; it must be 0 or more "
                "and finite"},
        Case{.options = {.rule = Rule::kXavier, .scale = nan},
        .error = "initializer xavier: scale is nan; it must be 0 or more"},
        Case{.options = {.rule = Rule::kMsra, .scale = nan},
        .error = "initializer msra: scale is nan; it must be finite"},
        Case{.options = {.rule = Rule::kConstant},
        .error = "initializer constant: scale, the value, is missing"},
        Case{.options = {.rule = Rule::kZero, .scale = 1},
        .error = "initializer zero: scale is set; it must not be"},
        Case{.options = {.rule = Rule::kNormal, .factor = FanFactor::kIn},
        .error = "initializer normal: factor is set; it must not be"},
        Case{.options = {.rule = Rule::kMsra,
                        .numbers = InitializerNumbers::kUniform},
        .error = "initializer msra: rnd is set; it must not be"}}) {
    Graph graph;
    EXPECT_THAT(SetInitializers(bad.options, graph),
                StatusIs(kInvalid, HasSubstr(bad.error)));
  }
}

TEST(Initializers, AreParsedFromTheirNames) {
  EXPECT_EQ(*ParseInitializerRule("default"), Rule::kDefault);
  EXPECT_EQ(*ParseInitializerRule("uniform"), Rule::kUniform);
  EXPECT_EQ(*ParseInitializerRule("normal"), Rule::kNormal);
  EXPECT_EQ(*ParseInitializerRule("xavier"), Rule::kXavier);
  EXPECT_EQ(*ParseInitializerRule("msra"), Rule::kMsra);
  EXPECT_EQ(*ParseInitializerRule("orthogonal"), Rule::kOrthogonal);
  EXPECT_EQ(*ParseInitializerRule("zero"), Rule::kZero);
  EXPECT_EQ(*ParseInitializerRule("one"), Rule::kOne);
  EXPECT_EQ(*ParseInitializerRule("constant"), Rule::kConstant);
  EXPECT_EQ(*ParseFanFactor("avg"), FanFactor::kAverage);
  EXPECT_EQ(*ParseFanFactor("in"), FanFactor::kIn);
  EXPECT_EQ(*ParseFanFactor("out"), FanFactor::kOut);
  EXPECT_EQ(*ParseInitializerNumbers("uniform"), InitializerNumbers::kUniform);
  EXPECT_EQ(*ParseInitializerNumbers("gaussian"),
            InitializerNumbers::kGaussian);
}

TEST(Initializers, HaveParsersThatListTheirNames) {
  EXPECT_THAT(ParseInitializerRule("glorot"),
              StatusIs(kInvalid,
                       HasSubstr("'glorot'; known: default uniform normal "
                                 "xavier msra orthogonal zero one constant")));
  EXPECT_THAT(ParseFanFactor("both"),
              StatusIs(kInvalid, HasSubstr("'both'; known: avg in out")));
  EXPECT_THAT(
      ParseInitializerNumbers("normal"),
      StatusIs(kInvalid, HasSubstr("'normal'; known: uniform gaussian")));
}

}  // namespace
}  // namespace spillway
