#include "models/layers/volume_layers.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

class VolumeLayersTest : public ::testing::Test {
 protected:
  Tensor Input(const Shape& shape) {
    return g_.Placeholder("x", DType::kFloat32, shape);
  }

  const Node& FindNode(const std::string& name) const {
    return g_.graph().node(g_.graph().FindNode(name).value());
  }
  Shape ShapeOf(const std::string& variable) const {
    return *FindNode(variable).attributes.GetShape("shape");
  }

  GraphBuilder g_{StandardOps()};
};

TEST_F(VolumeLayersTest, AConvolutionNamesItsVariablesAfterItsScope) {
  const Tensor y = Conv3D(
      g_.Scope("conv1"), Input({2, 4, 8, 6, 3}),
      {.filters = 5, .kernel = {3, 3, 2}, .activation = Activation::kRelu});
  ASSERT_THAT(g_.status(), IsOk());
  EXPECT_EQ(y.shape(), (Shape{2, 4, 8, 6, 5}));
  std::vector<std::string> names;
  for (const Node& node : g_.graph().nodes()) names.push_back(node.name);
  EXPECT_THAT(names,
              ElementsAre("x", "conv1/weights", "conv1/Conv3D", "conv1/biases",
                          "conv1/BiasAdd", "conv1/Relu"));
  EXPECT_EQ(ShapeOf("conv1/weights"), (Shape{5, 3, 3, 2, 3}));
}

TEST_F(VolumeLayersTest, AConvolutionPassesItsOptionsOn) {
  const Tensor y = Conv3D(g_.Scope("conv"), Input({1, 9, 20, 20, 4}),
                          {.filters = 6,
                           .kernel = {3, 3, 3},
                           .strides = {1, 2, 1},
                           .padding = "VALID",
                           .dilations = {2, 1, 1},
                           .groups = 2,
                           .use_bias = false});
  ASSERT_THAT(g_.status(), IsOk());
  EXPECT_EQ(y.shape(), (Shape{1, 5, 9, 18, 6}));
  EXPECT_EQ(ShapeOf("conv/weights"), (Shape{6, 3, 3, 3, 2}));
}

TEST_F(VolumeLayersTest, PoolsHalveAVolume) {
  const Tensor x = Input({2, 8, 6, 4, 3});
  const Shape half = {2, 4, 3, 2, 3};
  EXPECT_EQ(MaxPool3D(g_.Scope("max"), x, {}).shape(), half);
  EXPECT_EQ(AvgPool3D(g_.Scope("avg"), x, {}).shape(), half);
  const Tensor flat =
      MaxPool3D(g_.Scope("flat"), x,
                {.window = {1, 3, 3}, .strides = {1, 2, 2}, .padding = "SAME"});
  EXPECT_EQ(flat.shape(), (Shape{2, 8, 3, 2, 3}));
}

TEST_F(VolumeLayersTest, TheGlobalMeanOfAVolumeHasOneNumberAChannel) {
  const Tensor y = GlobalAveragePool(g_.Scope("mean"), Input({2, 8, 6, 4, 3}));
  ASSERT_THAT(g_.status(), IsOk());
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
}

TEST_F(VolumeLayersTest, ATransposedConvolutionMultipliesSizesByItsStrides) {
  const Tensor image =
      Conv2DTranspose(g_.Scope("up2"), Input({2, 5, 7, 64}), {.filters = 32});
  EXPECT_EQ(image.shape(), (Shape{2, 10, 14, 32}));
  EXPECT_EQ(ShapeOf("up2/weights"), (Shape{64, 2, 2, 32}));
  EXPECT_EQ(ShapeOf("up2/biases"), (Shape{32}));
  const Tensor volume = Conv3DTranspose(
      g_.Scope("up3"),
      g_.Placeholder("volume", DType::kFloat32, {1, 2, 3, 4, 6}),
      {.filters = 5, .kernel = {3, 3, 3}, .strides = {1, 2, 2}});
  EXPECT_EQ(volume.shape(), (Shape{1, 2, 6, 8, 5}));
  EXPECT_EQ(ShapeOf("up3/weights"), (Shape{6, 3, 3, 3, 5}));
  EXPECT_THAT(g_.status(), IsOk());
}

TEST_F(VolumeLayersTest, AValidTransposedConvolutionKeepsItsWholeWindows) {
  const Tensor y = Conv2DTranspose(
      g_.Scope("up"), Input({2, 5, 7, 4}),
      {.filters = 3, .kernel = {5, 2}, .strides = {2, 3}, .padding = "VALID"});
  ASSERT_THAT(g_.status(), IsOk());
  EXPECT_EQ(y.shape(), (Shape{2, 13, 21, 3}));  // 2 * 4 + 5, 3 * 7
}

TEST_F(VolumeLayersTest, AMisfitIsNamedByItsLayer) {
  Conv3D(g_.Scope("conv6"), Input({3, 4, 5, 2}), {.filters = 10});
  EXPECT_THAT(std::move(g_).Build(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("conv6: expects 5 dimensions"),
                             HasSubstr("float32[3, 4, 5, 2]"))));
}

TEST_F(VolumeLayersTest, ALayerWithoutASizeIsRefused) {
  Conv3DTranspose(g_.Scope("up"), Input({3, 4, 5, 2, 2}), {});
  EXPECT_THAT(std::move(g_).Build(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("up: filters is 0")));
}

TEST_F(VolumeLayersTest, ChannelsThatDoNotDivideIntoGroupsAreRefused) {
  const Tensor x = Input({3, 4, 5, 2, 5});
  Conv3D(g_.Scope("conv"), x, {.filters = 4, .groups = 2});
  EXPECT_THAT(std::move(g_).Build(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("conv")));
}

TEST_F(VolumeLayersTest, NoGroupsAreRefused) {
  Conv3D(g_.Scope("conv"), Input({3, 4, 5, 2, 5}), {.filters = 4, .groups = 0});
  EXPECT_THAT(
      std::move(g_).Build(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'groups'")));
}

TEST_F(VolumeLayersTest, LayersAfterAnErrorDoNothing) {
  Tensor x = Conv3D(g_.Scope("first"), Input({3, 4, 5, 2}), {.filters = 1});
  const size_t num_nodes = g_.graph().num_nodes();
  x = Conv3D(g_.Scope("conv"), x, {.filters = 3});
  x = MaxPool3D(g_.Scope("pool"), x, {});
  x = Conv3DTranspose(g_.Scope("up"), x, {.filters = 3});
  EXPECT_FALSE(x.is_valid());
  EXPECT_EQ(g_.graph().num_nodes(), num_nodes);
  EXPECT_THAT(g_.status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("first")));
}

}  // namespace
}  // namespace spillway
