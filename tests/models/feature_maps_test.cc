// The intermediate maps of the zoo's networks have the published sizes, and the
// networks accept images of other sizes.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

// A published map: the node that produces it, its height and width, its
// channels.
struct Map {
  std::string node;
  int64_t size = 0;
  int64_t channels = 0;
};

void ExpectMaps(const char* model, ModelOptions options,
                const std::vector<Map>& maps) {
  SCOPED_TRACE(model);
  GraphBuilder g(StandardOps());
  options.batch_size = 1;
  ASSERT_THAT(BuildModel(g, model, options), IsOk());
  for (const auto& [name, size, channels] : maps) {
    const auto node = g.graph().FindNode(name);
    ASSERT_TRUE(node.has_value()) << name;
    EXPECT_EQ(g.graph().type(g.graph().output(*node)).shape,
              (Shape{1, size, size, channels}))
        << name;
  }
}

TEST(FeatureMapsTest, AlexNetAndOverFeat) {
  ExpectMaps("alexnet", {},
             {{"conv1/Conv2D", 55, 64},
              {"pool1/MaxPool", 27, 64},
              {"conv2/Conv2D", 27, 192},
              {"pool2/MaxPool", 13, 192},
              {"conv5/Conv2D", 13, 256}});
  ExpectMaps("overfeat", {},
             {{"conv1/Conv2D", 56, 96},
              {"pool1/MaxPool", 28, 96},
              {"conv2/Conv2D", 24, 256},
              {"pool2/MaxPool", 12, 256}});
}

TEST(FeatureMapsTest, Vgg) {
  ExpectMaps("vgg16", {},
             {{"pool1/MaxPool", 112, 64},
              {"pool2/MaxPool", 56, 128},
              {"pool3/MaxPool", 28, 256},
              {"pool4/MaxPool", 14, 512},
              {"pool5/MaxPool", 7, 512}});
}

TEST(FeatureMapsTest, ResNet) {
  for (const char* model : {"resnet50", "resnet50_v1.5", "resnet50_v2"}) {
    ExpectMaps(model, {},
               {{"conv1/Conv2D", 112, 64},
                {"pool1/MaxPool", 56, 64},
                {"stage1/block3/conv3/Conv2D", 56, 256},
                {"stage2/block4/conv3/Conv2D", 28, 512},
                {"stage3/block6/conv3/Conv2D", 14, 1024}});
  }
}

TEST(FeatureMapsTest, ResNetOfCifar) {
  for (const char* model : {"resnet20", "resnet20_v2"}) {
    ExpectMaps(model, {},
               {{"conv1/Conv2D", 32, 16},
                {"stage1/block3/conv2/Conv2D", 32, 16},
                {"stage2/block3/conv2/Conv2D", 16, 32},
                {"stage3/block3/conv2/Conv2D", 8, 64}});
  }
}

TEST(FeatureMapsTest, DenseNet) {
  ExpectMaps("densenet40_k12", {},
             {{"conv1/Conv2D", 32, 16},
              {"block1/layer1/Concat", 32, 28},
              {"block1/layer12/Concat", 32, 160},
              {"transition1/AvgPool", 16, 160},
              {"block2/layer12/Concat", 16, 304},
              {"transition2/AvgPool", 8, 304}});
}

TEST(FeatureMapsTest, CaffesCifar10Full) {
  ExpectMaps("cifar10_full", {},
             {{"conv1/Conv2D", 32, 32},
              {"pool1/MaxPool", 16, 32},
              {"conv2/Conv2D", 16, 32},
              {"pool2/AvgPool", 8, 32},
              {"conv3/Conv2D", 8, 64},
              {"pool3/AvgPool", 4, 64}});
  // Caffe rounds the sizes of pools up: (7 - 3) / 2 + 1 = 3.
  ExpectMaps("cifar10_full", {.image_size = 28, .channels = 1},
             {{"pool1/MaxPool", 14, 32},
              {"pool2/AvgPool", 7, 32},
              {"pool3/AvgPool", 3, 64}});
}

TEST(FeatureMapsTest, GoogLeNet) {
  ExpectMaps("googlenet", {},
             {{"conv1/Conv2D", 112, 64},
              {"pool1/MaxPool", 56, 64},
              {"conv2/Conv2D", 56, 192},
              {"pool2/MaxPool", 28, 192},
              {"inception_3a/Concat", 28, 256},
              {"inception_3b/Concat", 28, 480},
              {"inception_4a/Concat", 14, 512},
              {"inception_4b/Concat", 14, 512},
              {"inception_4c/Concat", 14, 512},
              {"inception_4d/Concat", 14, 528},
              {"inception_4e/Concat", 14, 832},
              {"inception_5a/Concat", 7, 832},
              {"pool5/AvgPool", 1, 1024}});
  // The published run with large images.
  ExpectMaps("googlenet", {.image_size = 6944},
             {{"inception_3b/Concat", 868, 480}});
}

TEST(FeatureMapsTest, Inception3) {
  ExpectMaps("inception3", {.auxiliary_head = true},
             {{"conv1/Conv2D", 149, 32},
              {"conv2/Conv2D", 147, 32},
              {"conv3/Conv2D", 147, 64},
              {"pool1/MaxPool", 73, 64},
              {"conv4/Conv2D", 73, 80},
              {"conv5/Conv2D", 71, 192},
              {"pool2/MaxPool", 35, 192},
              {"mixed_0/Concat", 35, 256},
              {"mixed_1/Concat", 35, 288},
              {"mixed_2/Concat", 35, 288},
              {"mixed_3/Concat", 17, 768},
              {"mixed_7/Concat", 17, 768},
              {"auxiliary/conv2/Conv2D", 1, 768},
              {"mixed_8/Concat", 8, 1280},
              {"mixed_9/Concat", 8, 2048},
              {"pool/AvgPool", 1, 2048}});
}

TEST(FeatureMapsTest, Inception4) {
  ExpectMaps("inception4", {},
             {{"conv1/Conv2D", 149, 32},
              {"conv3/Conv2D", 147, 64},
              {"stem_1/Concat", 73, 160},
              {"stem_2/Concat", 71, 192},
              {"stem_3/Concat", 35, 384},
              {"a_4/Concat", 35, 384},
              {"reduction_a/Concat", 17, 1024},
              {"b_7/Concat", 17, 1024},
              {"reduction_b/Concat", 8, 1536}});
}

TEST(FeatureMapsTest, MobileNetV2) {
  ExpectMaps("mobilenet_v2", {},
             {{"conv1/Conv2D", 112, 32},
              {"stage1/block1/project/Conv2D", 112, 16},
              {"stage2/block1/expand/Conv2D", 112, 96},
              {"stage2/block1/depthwise/Conv2D", 56, 96},
              {"stage2/block2/project/Conv2D", 56, 24},
              {"stage3/block3/project/Conv2D", 28, 32},
              {"stage4/block4/project/Conv2D", 14, 64},
              {"stage5/block3/project/Conv2D", 14, 96},
              {"stage6/block3/project/Conv2D", 7, 160},
              {"stage7/block1/project/Conv2D", 7, 320}});
}

TEST(FeatureMapsTest, NasNet) {
  ExpectMaps("nasnet", {.auxiliary_head = true},
             {{"conv1/Conv2D", 111, 32},
              {"stem2/Concat", 28, 88},
              {"cell1/Concat", 28, 264},
              {"reduction1/Concat", 14, 352},
              {"cell8/Concat", 14, 528},
              {"auxiliary/pool/AvgPool", 4, 528},
              {"auxiliary/conv2/Conv2D", 1, 768},
              {"reduction2/Concat", 7, 704},
              {"cell12/Concat", 7, 1056}});
  ExpectMaps("nasnetlarge", {},
             {{"conv1/Conv2D", 165, 96},
              {"stem1/Concat", 83, 168},
              {"stem2/Concat", 42, 336},
              {"cell1/Concat", 42, 1008},
              {"reduction1/Concat", 21, 1344},
              {"cell7/Concat", 21, 2016},
              {"reduction2/Concat", 11, 2688},
              {"cell13/Concat", 11, 4032}});
  ExpectMaps("nasnet_cifar", {},
             {{"conv1/Conv2D", 32, 96},
              {"cell1/Concat", 32, 192},
              {"reduction1/Concat", 16, 256},
              {"cell7/Concat", 16, 384},
              {"reduction2/Concat", 8, 512},
              {"cell13/Concat", 8, 768}});
}

// For images of every size from the smallest one: the size of the last map.
struct Resized {
  std::string model;
  std::vector<std::pair<int64_t, int64_t>> images_and_maps;
};

class ResizedTest : public ::testing::TestWithParam<Resized> {};

TEST_P(ResizedTest, TheNetworkTrainsOnOtherImages) {
  for (const auto& [image, map] : GetParam().images_and_maps) {
    SCOPED_TRACE(image);
    GraphBuilder g(StandardOps());
    ASSERT_OK_AND_ASSIGN(
        const ModelGraph model,
        BuildModel(g, GetParam().model,
                   {.batch_size = 1, .image_size = image, .num_classes = 5}));
    EXPECT_EQ(model.features.shape().dim(1), map);
    EXPECT_EQ(model.features.shape().dim(2), map);
    EXPECT_EQ(model.logits.shape(), (Shape{1, 5}));
    Minimize(g.Scope("optimizer"), model.loss, Sgd());
    EXPECT_THAT(std::move(g).Build(), IsOk());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, ResizedTest,
    ::testing::Values(
        Resized{"resnet50", {{1, 1}, {2, 1}, {7, 1}, {33, 2}, {65, 3}}},
        Resized{"resnet20", {{1, 1}, {5, 2}, {28, 7}, {33, 9}}},
        Resized{"resnet20_v2", {{1, 1}, {5, 2}, {28, 7}, {33, 9}}},
        Resized{"densenet40_k12", {{4, 1}, {7, 1}, {33, 8}}},
        Resized{"alexnet_cifar", {{1, 1}, {28, 7}, {33, 9}}},
        Resized{"cifar10_full", {{1, 1}, {2, 1}, {7, 1}, {28, 3}, {33, 4}}},
        Resized{"trivial", {{1, 1}, {28, 28}}},
        Resized{"googlenet", {{1, 1}, {33, 2}, {223, 7}, {225, 8}}},
        Resized{"inception3", {{75, 1}, {76, 1}, {107, 2}, {331, 9}}},
        Resized{"inception4", {{75, 1}, {76, 1}, {107, 2}, {331, 9}}},
        Resized{"mobilenet_v2", {{1, 1}, {31, 1}, {33, 2}, {65, 3}}},
        Resized{"nasnet", {{3, 1}, {4, 1}, {33, 1}, {65, 2}, {67, 3}}},
        Resized{"nasnet_cifar", {{1, 1}, {5, 2}, {33, 9}}}),
    [](const auto& info) { return info.param.model; });

TEST(FeatureMapsTest, AnImageTooSmallNamesTheLayer) {
  const auto expect = [](const char* model, const ModelOptions& options,
                         const char* layer) {
    GraphBuilder g(StandardOps());
    EXPECT_THAT(BuildModel(g, model, options),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(model), HasSubstr(layer))));
  };
  expect("alexnet", {.image_size = 64}, "pool5");
  expect("densenet40_k12", {.image_size = 3}, "transition2/AvgPool");
  expect("inception3", {.image_size = 74}, "mixed_8/branch1/conv2");
  expect("inception3", {.image_size = 299 - 16, .auxiliary_head = true},
         "auxiliary/conv2");
  expect("inception4", {.image_size = 74}, "reduction_b/branch1/pool1");
  expect("nasnet", {.image_size = 2}, "conv1");
  expect("nasnet", {.image_size = 64, .auxiliary_head = true},
         "auxiliary/pool");
}

}  // namespace
}  // namespace spillway
