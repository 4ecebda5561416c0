#include "models/layers/blocks.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/support/eval_graph.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using testing::EvalGraph;
using testing::EvalState;
using testing::IsOk;
using testing::MakeHostTensor;

class BlocksTest : public ::testing::Test {
 protected:
  Tensor Images(const Shape& shape) {
    return g_.Placeholder("images", DType::kFloat32, shape);
  }

  std::vector<std::string> NodeNames() const {
    std::vector<std::string> names;
    for (const Node& node : g_.graph().nodes()) names.push_back(node.name);
    return names;
  }

  // `y` if the elements of `x` are 0, 1, 2, ...
  std::vector<float> Eval(Tensor x, Tensor y) {
    const TensorType type = x.type();
    std::vector<float> counted;
    for (int64_t i = 0; i < type.num_elements(); ++i) {
      counted.push_back(static_cast<float>(i));
    }
    const ValueId fetches[] = {y.id()};
    const auto graph = std::move(g_).Build();
    EXPECT_THAT(graph, IsOk());
    if (!graph.ok()) return {};
    EvalState state;
    const auto values = EvalGraph(
        *graph, {{x.id(), MakeHostTensor(type, counted)}}, fetches, state);
    EXPECT_THAT(values, IsOk());
    if (!values.ok()) return {};
    const HostTensor& result = values->at(fetches[0]);
    const float* data = result.data<float>();
    return {data, data + result.type.num_elements()};
  }

  GraphBuilder g_{StandardOps()};
};

TEST_F(BlocksTest, ConvNormHasNoBiasAndNoActivationOfItsOwn) {
  const Tensor y = ConvNorm(g_.Scope("conv1"), Images({2, 8, 8, 3}),
                            {.filters = 5, .activation = Activation::kRelu},
                            {.activation = Activation::kRelu});
  ASSERT_THAT(g_.status(), IsOk());
  EXPECT_EQ(y.shape(), (Shape{2, 8, 8, 5}));
  EXPECT_THAT(NodeNames(),
              ElementsAre("images", "conv1/weights", "conv1/Conv2D",
                          "conv1/scale", "conv1/offset", "conv1/moving_mean",
                          "conv1/moving_variance", "conv1/FusedBatchNorm"));
}

TEST_F(BlocksTest, ADepthwiseConvolutionHasOneFilterAChannel) {
  const Tensor y = DepthwiseConv2D(g_.Scope("depthwise"), Images({2, 8, 8, 6}),
                                   {.kernel = {3, 3}, .strides = {2, 2}});
  ASSERT_THAT(g_.status(), IsOk());
  EXPECT_EQ(y.shape(), (Shape{2, 4, 4, 6}));
  const NodeId weights = *g_.graph().FindNode("depthwise/weights");
  EXPECT_EQ(g_.graph().type(g_.graph().output(weights)).shape,
            (Shape{6, 3, 3, 1}));
}

TEST_F(BlocksTest, SubsamplingKeepsTheFirstOfEachStride) {
  const Tensor x = Images({1, 3, 4, 1});  // 0 1 2 3, 4 5 6 7, 8 9 10 11
  EXPECT_EQ(Subsample(g_.Scope("all"), x, 1).id(), x.id());
  EXPECT_THAT(Eval(x, Subsample(g_.Scope("some"), x, 2)),
              ElementsAre(0, 2, 8, 10));
}

TEST_F(BlocksTest, ChannelsArePaddedOnBothSides) {
  const Tensor x = Images({1, 1, 2, 2});
  EXPECT_EQ(PadChannels(g_.Scope("none"), x, 2).id(), x.id());
  EXPECT_THAT(Eval(x, PadChannels(g_.Scope("pad"), x, 5)),
              ElementsAre(0, 0, 1, 0, 0, 0, 2, 3, 0, 0));
}

TEST_F(BlocksTest, TheFinalPoolTakesAnyMap) {
  const auto op_of = [&](const char* name, const Shape& shape) {
    const Tensor x = g_.Placeholder(name, DType::kFloat32, shape);
    const Tensor y =
        FinalAveragePool(g_.Scope(std::string(name) + "_pool"), x, 3);
    EXPECT_EQ(y.shape(), (Shape{2, 4})) << name;
    return g_.graph().node(g_.graph().producer(y.id()).id).op;
  };
  EXPECT_EQ(op_of("published", {2, 3, 3, 4}), "Reshape");  // of AvgPool
  EXPECT_EQ(op_of("larger", {2, 5, 5, 4}), "Mean");
  EXPECT_EQ(op_of("smaller", {2, 1, 1, 4}), "Mean");
}

TEST_F(BlocksTest, TheFinalPoolIsTheMeanInBothCases) {
  const Tensor x = Images({1, 2, 2, 2});
  const Tensor published = FinalAveragePool(g_.Scope("a"), x, 2);
  const Tensor other = FinalAveragePool(g_.Scope("b"), x, 7);
  const Tensor both = ConcatChannels(g_.Scope("both"), {published, other});
  EXPECT_THAT(Eval(x, both), ElementsAre(3, 4, 3, 4));
}

TEST_F(BlocksTest, BlocksAfterAnErrorDoNothing) {
  const Tensor bad = Dense(g_.Scope("bad"), Images({1, 2, 2, 2}), {.units = 1});
  const size_t num_nodes = g_.graph().num_nodes();
  EXPECT_FALSE(ConvNorm(g_.Scope("a"), bad, {.filters = 2}, {}).is_valid());
  EXPECT_FALSE(DepthwiseConv2D(g_.Scope("b"), bad, {}).is_valid());
  EXPECT_FALSE(Subsample(g_.Scope("c"), bad, 2).is_valid());
  EXPECT_FALSE(PadChannels(g_.Scope("d"), bad, 2).is_valid());
  EXPECT_FALSE(FinalAveragePool(g_.Scope("e"), bad, 7).is_valid());
  EXPECT_EQ(g_.graph().num_nodes(), num_nodes);
}

}  // namespace
}  // namespace spillway
