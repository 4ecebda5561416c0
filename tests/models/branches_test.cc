#include "models/layers/branches.h"

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using branch::AvgPool;
using branch::Conv;
using branch::HalvingMaxPool;
using branch::Shared;
using branch::ValidConv;
using testing::IsOk;

class BranchesTest : public ::testing::Test {
 protected:
  BranchesTest() { x_ = g_.Placeholder("x", DType::kFloat32, {2, 9, 9, 8}); }

  Shape ShapeOf(const char* node) const {
    const Graph& graph = g_.graph();
    return graph.type(graph.output(graph.FindNode(node).value())).shape;
  }

  int64_t Count(const std::string& op) const {
    return std::ranges::count(g_.graph().nodes(), op, &Node::op);
  }

  GraphBuilder g_{StandardOps()};
  Tensor x_;
};

TEST_F(BranchesTest, TheirEndsStandSideBySide) {
  const Tensor y = AddBranches(g_.Scope("module"), x_, std::nullopt,
                               {{Conv(3, 1, 1)},
                                {Conv(4, 1, 1), Conv(5, 1, 7)},
                                {AvgPool(), Conv(2, 1, 1)}});
  ASSERT_THAT(g_.status(), IsOk());
  EXPECT_EQ(y.shape(), (Shape{2, 9, 9, 10}));
  EXPECT_EQ(ShapeOf("module/branch2/conv2/weights"), (Shape{5, 1, 7, 4}));
  EXPECT_EQ(ShapeOf("module/branch3/pool1/AvgPool"), (Shape{2, 9, 9, 8}));
}

TEST_F(BranchesTest, HalvingLayersHaveNoPadding) {
  const Tensor y = AddBranches(g_.Scope("module"), x_, std::nullopt,
                               {{ValidConv(3, 3, 3, 2)}, {HalvingMaxPool()}});
  EXPECT_EQ(y.shape(), (Shape{2, 4, 4, 11}));
}

TEST_F(BranchesTest, ASharedLayerIsComputedOnce) {
  const Tensor y = AddBranches(g_.Scope("module"), x_, std::nullopt,
                               {{Conv(3, 1, 1), Conv(4, 1, 3)},
                                {Shared(), Conv(5, 3, 1), Conv(6, 1, 1)},
                                {Shared(), Shared(), Conv(7, 1, 1)}});
  ASSERT_THAT(g_.status(), IsOk());
  EXPECT_EQ(y.shape(), (Shape{2, 9, 9, 17}));
  EXPECT_EQ(Count("Conv2D"), 5);
  EXPECT_EQ(ShapeOf("module/branch3/conv3/weights"), (Shape{7, 1, 1, 5}));
}

TEST_F(BranchesTest, ConvolutionsEndWithBiasAndRelu) {
  AddBranches(g_.Scope("module"), x_, std::nullopt, {{Conv(3, 1, 1)}});
  EXPECT_EQ(Count("BiasAdd"), 1);
  EXPECT_EQ(Count("Relu"), 1);
  EXPECT_EQ(Count("FusedBatchNorm"), 0);
}

TEST_F(BranchesTest, OrWithBatchNormThatShiftsAndIncludesRelu) {
  AddBranches(g_.Scope("module"), x_, InceptionNorm(true), {{Conv(3, 1, 1)}});
  EXPECT_EQ(Count("BiasAdd"), 0);
  EXPECT_EQ(Count("Relu"), 0);
  const auto node = [&](const char* name) {
    const NodeId id = g_.graph()
                          .FindNode(std::string("module/branch1/conv1/") + name)
                          .value();
    return g_.graph().node(id).attributes;
  };
  EXPECT_EQ(*node("FusedBatchNorm").GetReal("epsilon"), 0.001);
  EXPECT_EQ(*node("FusedBatchNorm").GetReal("momentum"), 0.999);
  EXPECT_EQ(*node("FusedBatchNorm").GetString("activation"), "relu");
  EXPECT_FALSE(*node("scale").GetBool("trainable"));
  EXPECT_TRUE(*node("offset").GetBool("trainable"));
}

}  // namespace
}  // namespace spillway
