#include "models/zoo.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

// Published counts of trainable parameters and the last feature map.
struct Published {
  std::string model;
  int64_t parameters = 0;
  int64_t channels = 0;
  int64_t size = 0;
  ModelOptions options = {};
};

class PublishedTest : public ::testing::TestWithParam<Published> {};

TEST_P(PublishedTest, ParametersAndLastFeatureMapAgree) {
  const Published& published = GetParam();
  GraphBuilder g(StandardOps());
  ModelOptions options = published.options;
  options.batch_size = 2;
  ASSERT_OK_AND_ASSIGN(const ModelGraph model,
                       BuildModel(g, published.model, options));
  EXPECT_EQ(CountParameters(g.graph()), published.parameters);
  EXPECT_EQ(model.features.shape(),
            (Shape{2, published.size, published.size, published.channels}));
  EXPECT_THAT(std::move(g).Build(), IsOk());
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, PublishedTest,
    ::testing::Values(Published{"lenet", 2'172'840, 64, 7},
                      Published{"mnist_deep", 3'274'634, 64, 7},
                      Published{"alexnet", 61'838'248, 256, 6},
                      Published{"overfeat", 145'920'872, 1024, 6},
                      Published{"vgg11", 132'863'336, 512, 7},
                      Published{"vgg16", 138'357'544, 512, 7},
                      Published{"vgg19", 143'667'240, 512, 7},
                      Published{"resnet50", 25'557'032, 2048, 7},
                      Published{"resnet50_v1.5", 25'557'032, 2048, 7},
                      Published{"resnet50_v2", 25'549'480, 2048, 7},
                      Published{"resnet101", 44'549'160, 2048, 7},
                      Published{"resnet101_v1.5", 44'549'160, 2048, 7},
                      Published{"resnet101_v2", 44'541'608, 2048, 7},
                      Published{"resnet152", 60'192'808, 2048, 7},
                      Published{"resnet152_v1.5", 60'192'808, 2048, 7},
                      Published{"resnet152_v2", 60'185'256, 2048, 7},
                      Published{"ssd300", 19'972'534, 256, 1}),
    [](const auto& info) {
      std::string name = info.param.model;
      std::ranges::replace(name, '.', '_');
      return name;
    });

// Published sizes of the feature maps along the way.
TEST(ZooTest, FeatureMapsShrinkAsPublished) {
  const auto sizes = [](const char* model,
                        const std::vector<std::string>& nodes) {
    GraphBuilder g(StandardOps());
    EXPECT_THAT(BuildModel(g, model, {.batch_size = 1}), IsOk());
    std::vector<int64_t> result;
    for (const std::string& node : nodes) {
      const auto id = g.graph().FindNode(node);
      EXPECT_TRUE(id.has_value()) << node;
      if (!id.has_value()) return result;
      result.push_back(g.graph().type(g.graph().output(*id)).shape.dim(1));
    }
    return result;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(sizes("alexnet", {"conv1/Conv2D", "pool1/MaxPool", "conv2/Conv2D",
                                "pool2/MaxPool", "conv5/Conv2D"}),
              ElementsAre(55, 27, 27, 13, 13));
  EXPECT_THAT(sizes("overfeat", {"conv1/Conv2D", "pool1/MaxPool",
                                 "conv2/Conv2D", "pool2/MaxPool"}),
              ElementsAre(56, 28, 24, 12));
  EXPECT_THAT(sizes("vgg16", {"pool1/MaxPool", "pool2/MaxPool", "pool3/MaxPool",
                              "pool4/MaxPool", "pool5/MaxPool"}),
              ElementsAre(112, 56, 28, 14, 7));
  const std::vector<std::string> resnet = {
      "conv1/Conv2D", "pool1/MaxPool", "stage1/block3/conv3/Conv2D",
      "stage2/block4/conv3/Conv2D", "stage3/block6/conv3/Conv2D"};
  EXPECT_THAT(sizes("resnet50", resnet), ElementsAre(112, 56, 56, 28, 14));
  EXPECT_THAT(sizes("resnet50_v2", resnet), ElementsAre(112, 56, 56, 28, 14));
}

TEST(ZooTest, ResNetVersionsDifferInThePlaceOfTheStride) {
  const auto stride = [](const char* model, const char* node) {
    GraphBuilder g(StandardOps());
    EXPECT_THAT(BuildModel(g, model, {.batch_size = 1}), IsOk());
    const Graph& graph = g.graph();
    return graph.node(*graph.FindNode(node))
        .attributes.GetInts("strides")
        ->at(0);
  };
  const char* first = "stage2/block1/conv1/Conv2D";
  const char* second = "stage2/block1/conv2/Conv2D";
  EXPECT_EQ(stride("resnet50", first), 2);
  EXPECT_EQ(stride("resnet50", second), 1);
  EXPECT_EQ(stride("resnet50_v1.5", first), 1);
  EXPECT_EQ(stride("resnet50_v1.5", second), 2);
}

TEST(ZooTest, IsSortedByName) {
  for (size_t i = 1; i < Zoo().size(); ++i) {
    EXPECT_LT(Zoo()[i - 1].name, Zoo()[i].name);
  }
}

TEST(ZooTest, EveryModelTrainsAndEvaluatesByItsDefaults) {
  for (const ModelSpec& spec : Zoo()) {
    SCOPED_TRACE(std::string(spec.name));
    GraphBuilder training(StandardOps());
    ASSERT_OK_AND_ASSIGN(const ModelGraph model,
                         BuildModel(training, spec.name));
    EXPECT_EQ(model.images.shape(),
              (Shape{spec.default_batch_size, spec.default_image_size,
                     spec.default_image_size, spec.default_channels}));
    EXPECT_EQ(model.labels.type().dtype, DType::kInt32);
    EXPECT_EQ(model.labels.shape().dim(0), spec.default_batch_size);
    const int64_t rows = model.labels.shape().num_elements();
    EXPECT_EQ(model.logits.shape(), (Shape{rows, spec.default_num_classes}));
    EXPECT_EQ(model.correct.type(),
              (TensorType{.dtype = DType::kBool, .shape = {rows}}));
    Minimize(training.Scope("momentum_optimizer"), model.loss, Momentum());
    EXPECT_THAT(std::move(training).Build(), IsOk());

    GraphBuilder evaluation(StandardOps());
    ASSERT_THAT(BuildModel(evaluation, spec.name, {.is_training = false}),
                IsOk());
    EXPECT_THAT(std::move(evaluation).Build(), IsOk());
  }
}

TEST(ZooTest, TrainingAndEvaluationShareTheirVariables) {
  const auto variables = [](bool is_training) {
    GraphBuilder g(StandardOps());
    EXPECT_THAT(BuildModel(g, "resnet50", {.is_training = is_training}),
                IsOk());
    std::map<std::string, TensorType> result;
    for (const Node& node : g.graph().nodes()) {
      if (node.op == "Variable") {
        result[node.name] = g.graph().type(node.outputs[0]);
      }
    }
    return result;
  };
  EXPECT_EQ(variables(true), variables(false));
}

TEST(ZooTest, ResNetTakesOneSmallImage) {
  for (const int64_t size : {1, 2, 7, 32, 33, 65}) {
    GraphBuilder g(StandardOps());
    ASSERT_OK_AND_ASSIGN(
        const ModelGraph model,
        BuildModel(g, "resnet50_v1.5", {.batch_size = 1, .image_size = size}));
    const int64_t features = (size + 31) / 32;  // five halvings, rounded up
    EXPECT_EQ(model.features.shape(), (Shape{1, features, features, 2048}));
    Minimize(g.Scope("optimizer"), model.loss, Sgd());
    EXPECT_THAT(std::move(g).Build(), IsOk()) << size;
  }
}

TEST(ZooTest, TakesTheSizesOfADataset) {
  GraphBuilder g(StandardOps());
  ASSERT_OK_AND_ASSIGN(
      const ModelGraph model,
      BuildModel(g, "lenet",
                 {.batch_size = 7, .channels = 1, .num_classes = 3}));
  EXPECT_EQ(model.images.shape(), (Shape{7, 28, 28, 1}));
  EXPECT_EQ(model.logits.shape(), (Shape{7, 3}));
}

TEST(ZooTest, AnUnknownNameListsTheKnownOnes) {
  GraphBuilder g(StandardOps());
  EXPECT_THAT(BuildModel(g, "resnet51"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'resnet51'"), HasSubstr("resnet50"),
                             HasSubstr("vgg19"))));
}

TEST(ZooTest, ANegativeSizeIsRefused) {
  GraphBuilder g(StandardOps());
  EXPECT_THAT(BuildModel(g, "lenet", {.batch_size = -1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("batch_size is -1")));
}

TEST(ZooTest, AnImageTooSmallNamesTheLayer) {
  GraphBuilder g(StandardOps());
  EXPECT_THAT(BuildModel(g, "alexnet", {.image_size = 64}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("alexnet"), HasSubstr("pool5"))));
}

}  // namespace
}  // namespace spillway
