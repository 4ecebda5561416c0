#include "models/layers/layers.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "gmock/gmock.h"
#include "graph/builder/gradient.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/support/eval_graph.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::EvalGraph;
using testing::EvalState;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeHostTensor;
using testing::StatusIs;

std::vector<std::string> NodeNames(const GraphBuilder& g) {
  std::vector<std::string> names;
  for (const Node& node : g.graph().nodes()) names.push_back(node.name);
  return names;
}

const Node& FindNode(const GraphBuilder& g, const std::string& name) {
  return g.graph().node(g.graph().FindNode(name).value());
}

class LayersTest : public ::testing::Test {
 protected:
  Tensor Images(const Shape& shape) {
    return g_.Placeholder("images", DType::kFloat32, shape);
  }

  GraphBuilder g_{StandardOps()};
};

TEST_F(LayersTest, AConvolutionNamesItsVariablesAfterItsScope) {
  const Tensor y =
      Conv2D(g_.Scope("conv1"), Images({2, 8, 6, 3}),
             {.filters = 5, .kernel = {3, 2}, .activation = Activation::kRelu});
  ASSERT_THAT(g_.status(), IsOk());
  EXPECT_EQ(y.shape(), (Shape{2, 8, 6, 5}));
  EXPECT_THAT(NodeNames(g_),
              ElementsAre("images", "conv1/weights", "conv1/Conv2D",
                          "conv1/biases", "conv1/BiasAdd", "conv1/Relu"));
  EXPECT_EQ(*FindNode(g_, "conv1/weights").attributes.GetShape("shape"),
            (Shape{5, 3, 2, 3}));
}

TEST_F(LayersTest, AConvolutionPassesItsOptionsOn) {
  const Tensor y = Conv2D(g_.Scope("conv"), Images({1, 20, 20, 4}),
                          {.filters = 6,
                           .kernel = {3, 3},
                           .strides = {2, 1},
                           .padding = "VALID",
                           .dilations = {1, 2},
                           .groups = 2,
                           .use_bias = false});
  ASSERT_THAT(g_.status(), IsOk());
  EXPECT_EQ(y.shape(), (Shape{1, 9, 16, 6}));
  EXPECT_EQ(*FindNode(g_, "conv/weights").attributes.GetShape("shape"),
            (Shape{6, 3, 3, 2}));
}

TEST_F(LayersTest, ResNetPaddingPutsTheOddRowBehind) {
  const Tensor x = Images({1, 224, 224, 3});
  const auto paddings = [&](const char* scope, int64_t kernel) {
    const Tensor y = Conv2D(g_.Scope(scope), x,
                            {.filters = 1,
                             .kernel = {kernel, kernel},
                             .strides = {2, 2},
                             .padding = "SAME_RESNET"});
    EXPECT_EQ(y.shape().dim(1), 112);
    return *FindNode(g_, std::string(scope) + "/Conv2D")
                .attributes.GetIntLists("explicit_paddings");
  };
  EXPECT_THAT(paddings("a", 7),
              ElementsAre(ElementsAre(3, 3), ElementsAre(3, 3)));
  EXPECT_THAT(paddings("b", 4),
              ElementsAre(ElementsAre(1, 2), ElementsAre(1, 2)));
  EXPECT_THAT(paddings("c", 1),
              ElementsAre(ElementsAre(0, 0), ElementsAre(0, 0)));
}

TEST_F(LayersTest, ADenseLayerHoldsAMatrixAndBiases) {
  const Tensor x = g_.Placeholder("x", DType::kFloat32, {4, 50});
  const Tensor y =
      Dense(g_.Scope("fc"), x, {.units = 8, .activation = Activation::kTanh});
  ASSERT_THAT(g_.status(), IsOk());
  EXPECT_EQ(y.shape(), (Shape{4, 8}));
  EXPECT_EQ(*FindNode(g_, "fc/weights").attributes.GetShape("shape"),
            (Shape{50, 8}));
  EXPECT_EQ(FindNode(g_, "fc/Tanh").op, "Tanh");
}

TEST_F(LayersTest, InitialWeightsFollowTheZoosRules) {
  const Tensor x = g_.Placeholder("x", DType::kFloat32, {4, 50});
  Dense(g_.Scope("relu"), x, {.units = 8, .activation = Activation::kRelu});
  Dense(g_.Scope("plain"), x, {.units = 8});
  Dense(g_.Scope("own"), x,
        {.units = 8, .initializer = Initializer::Constant(0.5)});
  const auto initializer = [&](const char* node) {
    return *FindNode(g_, node).attributes.GetObject("initializer");
  };
  EXPECT_EQ(*initializer("relu/weights").GetReal("stddev"), 0.2);  // sqrt(2/50)
  EXPECT_EQ(*initializer("plain/weights").GetReal("stddev"), std::sqrt(0.02));
  EXPECT_EQ(*initializer("own/weights").GetReal("value"), 0.5);
  EXPECT_EQ(*initializer("own/biases").GetReal("value"), 0);
}

TEST_F(LayersTest, DropoutIsOnlyThereInTraining) {
  const Tensor x = g_.Placeholder("x", DType::kFloat32, {4, 50});
  const Tensor none = Dropout(g_.Scope("a"), x, {.is_training = false});
  EXPECT_EQ(none.id(), x.id());
  Dropout(g_.Scope("a"), x, {});
  Dropout(g_.Scope("b"), x, {.rate = 0.2});
  ASSERT_THAT(g_.status(), IsOk());
  const Attributes& a = FindNode(g_, "a/Dropout").attributes;
  const Attributes& b = FindNode(g_, "b/Dropout").attributes;
  EXPECT_EQ(*a.GetReal("rate"), 0.5);
  EXPECT_EQ(*b.GetReal("rate"), 0.2);
  EXPECT_NE(*a.GetInt("seed"), *b.GetInt("seed"));
}

TEST_F(LayersTest, DropoutsOfOneScopeHaveMasksOfTheirOwn) {
  const Tensor x = g_.Placeholder("x", DType::kFloat32, {4, 50});
  for (int i = 0; i < 3; ++i) Dropout(g_.Scope("a"), x, {});
  ASSERT_THAT(g_.status(), IsOk());
  std::set<int64_t> seeds;
  for (const char* name : {"a/Dropout", "a/Dropout_1", "a/Dropout_2"}) {
    seeds.insert(*FindNode(g_, name).attributes.GetInt("seed"));
  }
  EXPECT_EQ(seeds.size(), 3u);
}

TEST_F(LayersTest, BatchNormKeepsItsStatisticsOutOfTraining) {
  const Tensor y = BatchNorm(g_.Scope("bn"), Images({2, 4, 4, 3}),
                             {.activation = Activation::kRelu});
  ASSERT_THAT(g_.status(), IsOk());
  EXPECT_EQ(y.shape(), (Shape{2, 4, 4, 3}));
  EXPECT_TRUE(*FindNode(g_, "bn/scale").attributes.GetBool("trainable"));
  EXPECT_TRUE(*FindNode(g_, "bn/offset").attributes.GetBool("trainable"));
  for (const char* name : {"bn/moving_mean", "bn/moving_variance"}) {
    EXPECT_FALSE(*FindNode(g_, name).attributes.GetBool("trainable")) << name;
  }
}

// Caffe's sizes: as many windows as begin inside. The mean of the last window
// is over its part inside the image.
TEST_F(LayersTest, CeilPoolsReachOverTheLastEdge) {
  const Tensor x = Images({1, 4, 4, 1});
  const PoolOptions pool = {.window = {3, 3}, .padding = "CEIL"};
  const Tensor y = AvgPool(g_.Scope("pool"), x, pool);
  EXPECT_EQ(MaxPool(g_.Scope("pool"), x, pool).shape(), (Shape{1, 2, 2, 1}));
  const ValueId fetches[] = {y.id()};
  std::vector<float> counted;
  for (int i = 0; i < 16; ++i) counted.push_back(static_cast<float>(i));
  const std::map<ValueId, HostTensor> feeds = {
      {x.id(), MakeHostTensor(x.type(), counted)}};
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g_).Build());
  EvalState state;
  ASSERT_OK_AND_ASSIGN(const auto values,
                       EvalGraph(graph, feeds, fetches, state));
  const float* means = values.at(fetches[0]).data<float>();
  EXPECT_EQ(means[0], 5);     // rows 0 to 2, columns 0 to 2
  EXPECT_EQ(means[1], 6.5F);  // columns 2 and 3
  EXPECT_EQ(means[2], 11);    // rows 2 and 3
  EXPECT_EQ(means[3], 12.5F);
}

TEST_F(LayersTest, CeilPoolsOfEverySize) {
  const auto size = [&](int64_t image) {
    const std::string name = fmt::format("x{}", image);
    const Tensor x = g_.Placeholder(name, DType::kFloat32, {1, image, 1, 1});
    return MaxPool(g_.Scope(name), x,
                   {.window = {3, 1}, .strides = {2, 1}, .padding = "CEIL"})
        .shape()
        .dim(1);
  };
  EXPECT_EQ(size(1), 1);
  EXPECT_EQ(size(3), 1);
  EXPECT_EQ(size(4), 2);
  EXPECT_EQ(size(5), 2);
  EXPECT_EQ(size(32), 16);
  EXPECT_EQ(size(33), 16);
}

TEST_F(LayersTest, BiasesAndNormalisationAsTheOptionsSay) {
  const Initializer bias = Initializer::Constant(0.1);
  Tensor x = Conv2D(g_.Scope("conv"), Images({1, 4, 4, 3}),
                    {.filters = 8, .bias_initializer = bias});
  x = Lrn(g_.Scope("norm"), x,
          {.depth_radius = 4, .bias = 2, .alpha = 0.5, .beta = 0.75});
  x = Flatten(g_.Scope("flatten"), x);
  Dense(g_.Scope("fc"), x, {.units = 2, .bias_initializer = bias});
  ASSERT_THAT(g_.status(), IsOk());
  for (const char* node : {"conv/biases", "fc/biases"}) {
    const auto object = *FindNode(g_, node).attributes.GetObject("initializer");
    EXPECT_EQ(*object.GetReal("value"), 0.1) << node;
  }
  const Attributes& norm = FindNode(g_, "norm/LRN").attributes;
  EXPECT_EQ(*norm.GetInt("depth_radius"), 4);
  EXPECT_EQ(*norm.GetReal("bias"), 2);
  EXPECT_EQ(*norm.GetReal("alpha"), 0.5);
  EXPECT_EQ(*norm.GetReal("beta"), 0.75);
}

TEST_F(LayersTest, FlattenKeepsTheBatch) {
  EXPECT_EQ(Flatten(g_.Scope("flatten"), Images({3, 4, 5, 2})).shape(),
            (Shape{3, 40}));
}

TEST_F(LayersTest, AMisfitIsNamedByItsLayer) {
  Dense(g_.Scope("fc6"), Images({3, 4, 5, 2}), {.units = 10});
  EXPECT_THAT(std::move(g_).Build(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("fc6: expects 2 dimensions"),
                             HasSubstr("float32[3, 4, 5, 2]"))));
}

TEST_F(LayersTest, ALayerWithoutASizeIsRefused) {
  Conv2D(g_.Scope("conv1"), Images({3, 4, 5, 2}), {.kernel = {3, 3}});
  EXPECT_THAT(std::move(g_).Build(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("conv1: filters is 0")));
}

TEST_F(LayersTest, ChannelsThatDoNotDivideIntoGroupsAreRefused) {
  Conv2D(g_.Scope("conv1"), Images({3, 4, 5, 5}), {.filters = 4, .groups = 2});
  EXPECT_THAT(std::move(g_).Build(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("conv1")));
}

TEST_F(LayersTest, AnUnknownPaddingIsRefused) {
  Conv2D(g_.Scope("conv1"), Images({3, 4, 5, 5}),
         {.filters = 4, .padding = "SOME"});
  EXPECT_THAT(std::move(g_).Build(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("SOME")));
}

TEST_F(LayersTest, TwoLayersInOneScopeAreRefused) {
  const Tensor x = Images({3, 4, 5, 2});
  const std::vector<std::function<void(GraphBuilder&, Tensor)>> layers = {
      [](GraphBuilder& g, Tensor y) {
        Conv2D(g.Scope("one"), y, {.filters = 4});
      },
      [](GraphBuilder& g, Tensor y) { BatchNorm(g.Scope("one"), y, {}); },
      [](GraphBuilder& g, Tensor y) {
        Dense(g.Scope("one"), Flatten(g.Scope("one"), y), {.units = 4});
      }};
  for (const auto& layer : layers) {
    GraphBuilder g;
    const Tensor y = g.Placeholder("y", DType::kFloat32, {3, 4, 5, 2});
    layer(g, y);
    ASSERT_THAT(g.status(), IsOk());
    layer(g, y);
    EXPECT_THAT(std::move(g).Build(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("the scope 'one' has a node of this name")));
  }
  // Layers without variables, and with different ones, may share a scope.
  Tensor y = Conv2D(g_.Scope("one"), x, {.filters = 4, .use_bias = false});
  y = Relu(g_.Scope("one"),
           Relu(g_.Scope("one"), BatchNorm(g_.Scope("one"), y, {})));
  EXPECT_THAT(std::move(g_).Build(), IsOk());
}

TEST_F(LayersTest, PoolsOfNoSizeAreRefused) {
  const std::vector<PoolOptions> bad = {{.strides = {0, 2}, .padding = "CEIL"},
                                        {.strides = {2, -1}, .padding = "CEIL"},
                                        {.window = {0, 2}}};
  for (const PoolOptions& options : bad) {
    for (const auto pool : {&MaxPool, &spillway::AvgPool}) {
      GraphBuilder g;
      const Tensor x = g.Placeholder("x", DType::kFloat32, {3, 4, 5, 2});
      pool(g.Scope("pool"), x, options);
      EXPECT_THAT(
          std::move(g).Build(),
          StatusIs(absl::StatusCode::kInvalidArgument,
                   AllOf(HasSubstr("pool: "), HasSubstr("must be positive"))));
    }
  }
}

TEST_F(LayersTest, OperatorsComputeWhatTheySay) {
  const TensorType type = {.dtype = DType::kFloat32, .shape = {2, 2}};
  const TensorType row = {.dtype = DType::kFloat32, .shape = {2}};
  const Tensor x = g_.Placeholder("x", type.dtype, type.shape);
  const Tensor y = g_.Placeholder("y", type.dtype, type.shape);
  const Tensor r = g_.Placeholder("r", row.dtype, row.shape);
  const std::vector<ValueId> fetches = {
      x + y,  x - y,  x * y,  x + 10, x - 10, x * 10,  //
      10 + x, 10 - x, 10 * x, x - r,  r - x,  r * x,  r + x};
  const std::map<ValueId, HostTensor> feeds = {
      {x, MakeHostTensor<float>(type, {1, 2, 3, 4})},
      {y, MakeHostTensor<float>(type, {5, 6, 7, 8})},
      {r, MakeHostTensor<float>(row, {100, 200})}};
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g_).Build());
  EvalState state;
  ASSERT_OK_AND_ASSIGN(const auto values,
                       EvalGraph(graph, feeds, fetches, state));
  const std::vector<std::vector<float>> expected = {
      {6, 8, 10, 12},         {-4, -4, -4, -4},   {5, 12, 21, 32},
      {11, 12, 13, 14},       {-9, -8, -7, -6},   {10, 20, 30, 40},
      {11, 12, 13, 14},       {9, 8, 7, 6},       {10, 20, 30, 40},
      {-99, -198, -97, -196}, {99, 198, 97, 196}, {100, 400, 300, 800},
      {101, 202, 103, 204}};
  for (size_t i = 0; i < fetches.size(); ++i) {
    EXPECT_EQ(values.at(fetches[i]).bytes,
              MakeHostTensor(type, expected[i]).bytes)
        << i;
  }
}

TEST_F(LayersTest, OperatorsAreDifferentiable) {
  const Tensor x = g_.Placeholder("x", DType::kFloat32, {});
  const Tensor y = 3 - x * x * 2;  // dy/dx = -4 x
  const Tensor dx = AddGradients(g_.Scope("gradients"), y, {{x}})[0];
  const std::map<ValueId, HostTensor> feeds = {
      {x, MakeHostTensor<float>(x.type(), {5})}};
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g_).Build());
  EvalState state;
  const ValueId fetches[] = {y, dx};
  ASSERT_OK_AND_ASSIGN(const auto values,
                       EvalGraph(graph, feeds, fetches, state));
  EXPECT_EQ(*values.at(y).data<float>(), -47);
  EXPECT_EQ(*values.at(dx).data<float>(), -20);
}

TEST_F(LayersTest, LayersAfterAnErrorDoNothing) {
  Tensor x = Dense(g_.Scope("first"), Images({3, 4, 5, 2}), {.units = 10});
  const size_t num_nodes = g_.graph().num_nodes();
  x = Conv2D(g_.Scope("conv"), x, {.filters = 3});
  x = BatchNorm(g_.Scope("bn"), x, {});
  x = MaxPoolRelu(g_.Scope("pool"), x, {});
  x = Flatten(g_.Scope("flatten"), x);
  x = Dense(g_.Scope("fc"), x, {.units = 3});
  x = Dropout(g_.Scope("dropout"), x, {});
  EXPECT_FALSE(x.is_valid());
  EXPECT_EQ(g_.graph().num_nodes(), num_nodes);
  EXPECT_THAT(g_.status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("first")));
}

TEST_F(LayersTest, AccuracyCountsTheLabelsAmongTheLargest) {
  const Tensor logits = g_.Placeholder("logits", DType::kFloat32, {4, 3});
  const Tensor labels = g_.Placeholder("labels", DType::kInt32, {4});
  const Tensor top1 = Accuracy(g_.Scope("top1"), logits, labels);
  const Tensor top2 = Accuracy(g_.Scope("top2"), logits, labels, 2);
  const ValueId fetches[] = {top1.id(), top2.id()};
  const std::map<ValueId, HostTensor> feeds = {
      {logits.id(), MakeHostTensor<float>(logits.type(), {3, 2, 1,  //
                                                          3, 2, 1,  //
                                                          3, 2, 1,  //
                                                          1, 2, 3})},
      {labels.id(), MakeHostTensor<int32_t>(labels.type(), {0, 1, 2, 2})}};
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g_).Build());
  EvalState state;
  ASSERT_OK_AND_ASSIGN(const auto values,
                       EvalGraph(graph, feeds, fetches, state));
  EXPECT_EQ(values.at(fetches[0]).data<float>()[0], 0.5f);
  EXPECT_EQ(values.at(fetches[1]).data<float>()[0], 0.75f);
}

// Normal numbers, every fourth rounded to halves, so that ties and zeros occur;
// adding zero makes negative zeros positive.
std::vector<float> RandomImages(int64_t size) {
  std::vector<float> values(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = NormalAt(17, i);
    values[i] =
        static_cast<float>(i % 4 == 0 ? std::round(2 * x) / 2 + 0.0 : x - 0.3);
  }
  return values;
}

TEST_F(LayersTest, MaxPoolReluEqualsReluThenMaxPoolBitForBit) {
  const TensorType type = {.dtype = DType::kFloat32, .shape = {2, 9, 9, 5}};
  const Tensor x = Images(type.shape);
  const PoolOptions pool = {.window = {3, 3}, .padding = "SAME"};
  const Tensor ours = MaxPoolRelu(g_.Scope("ours"), x, pool);
  const Tensor published =
      MaxPool(g_.Scope("published"), Relu(g_.Scope("published"), x), pool);
  const auto gradient = [&](const char* name, Tensor y) {
    const NameScope scope = g_.Scope(name);
    const Tensor weighted = g_.Add(scope, {.op = "Mul", .inputs = {y, y}});
    const Tensor loss = g_.Add(
        scope, {.op = "Sum",
                .inputs = {weighted},
                .attributes = {{"axes", std::vector<int64_t>{0, 1, 2, 3}}}});
    return AddGradients(scope.Scope("gradients"), loss, {{x}})[0];
  };
  const Tensor our_gradient = gradient("our_loss", ours);
  const Tensor published_gradient = gradient("published_loss", published);
  ASSERT_THAT(g_.status(), IsOk());
  const ValueId fetches[] = {ours.id(), published.id(), our_gradient.id(),
                             published_gradient.id()};
  const std::map<ValueId, HostTensor> feeds = {
      {x.id(), MakeHostTensor(type, RandomImages(type.num_elements()))}};
  ASSERT_OK_AND_ASSIGN(const Graph graph, std::move(g_).Build());
  EvalState state;
  ASSERT_OK_AND_ASSIGN(const auto values,
                       EvalGraph(graph, feeds, fetches, state));
  EXPECT_EQ(values.at(fetches[0]).bytes, values.at(fetches[1]).bytes);
  EXPECT_EQ(values.at(fetches[2]).bytes, values.at(fetches[3]).bytes);
}

}  // namespace
}  // namespace spillway
