#include "models/zoo.h"

#include <fmt/format.h>

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

// Published counts of trainable parameters, and the last feature map. The
// counts of densenet100 and nasnet_cifar are published only as 7.0, 27.2 and
// 3.3 million. The numbers here were counted independently of this code, by a
// sum over the layers of the papers' tables that gives the published numbers of
// the related networks.
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
  std::vector<int64_t> features(model.images.shape().dims().size(),
                                published.size);
  features.front() = 2;
  features.back() = published.channels;
  EXPECT_EQ(model.features.shape(), Shape(features));
  EXPECT_THAT(std::move(g).Build(), IsOk());
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, PublishedTest,
    ::testing::Values(
        Published{"trivial", 4'259'780, 3, 227},
        Published{"lenet", 2'172'840, 64, 7},
        Published{"mnist_deep", 3'274'634, 64, 7},
        Published{"alexnet", 61'838'248, 256, 6},
        Published{"alexnet_cifar", 1'756'426, 64, 8},
        Published{"cifar10_full", 89'578, 64, 4},
        Published{"overfeat", 145'920'872, 1024, 6},
        Published{"vgg11", 132'863'336, 512, 7},
        Published{"vgg16", 138'357'544, 512, 7},
        Published{"vgg19", 143'667'240, 512, 7},
        Published{"googlenet", 6'998'552, 1024, 7},
        Published{"inception3", 23'817'352, 2048, 8},
        Published{"inception3", 27'143'152, 2048, 8, {.auxiliary_head = true}},
        Published{"inception4", 42'648'232, 1536, 8},
        Published{"mobilenet", 4'508'153, 1280, 7},
        Published{"mobilenet_v2", 3'504'872, 1280, 7},
        Published{"nasnet", 5'289'978, 1056, 7},
        Published{"nasnet", 7'701'218, 1056, 7, {.auxiliary_head = true}},
        Published{"nasnetlarge", 88'753'150, 4032, 11},
        Published{
            "nasnetlarge", 93'320'934, 4032, 11, {.auxiliary_head = true}},
        Published{"nasnet_cifar", 3'346'538, 768, 8},
        Published{"nasnet_cifar", 4'978'036, 768, 8, {.auxiliary_head = true}},
        Published{"densenet40_k12", 1'020'634, 448, 8},
        Published{"densenet100_k12", 6'981'994, 1168, 8},
        Published{"densenet100_k24", 27'253'738, 2320, 8},
        Published{"resnet20", 269'722, 64, 8},
        Published{"resnet20_v2", 269'754, 64, 8},
        Published{"resnet32", 464'154, 64, 8},
        Published{"resnet32_v2", 464'186, 64, 8},
        Published{"resnet44", 658'586, 64, 8},
        Published{"resnet44_v2", 658'618, 64, 8},
        Published{"resnet56", 853'018, 64, 8},
        Published{"resnet56_v2", 853'050, 64, 8},
        Published{"resnet110", 1'727'962, 64, 8},
        Published{"resnet110_v2", 1'727'994, 64, 8},
        Published{"resnet50", 25'557'032, 2048, 7},
        Published{"resnet50_v1.5", 25'557'032, 2048, 7},
        Published{"resnet50_v2", 25'549'480, 2048, 7},
        Published{"resnet101", 44'549'160, 2048, 7},
        Published{"resnet101_v1.5", 44'549'160, 2048, 7},
        Published{"resnet101_v2", 44'541'608, 2048, 7},
        Published{"resnet152", 60'192'808, 2048, 7},
        Published{"resnet152_v1.5", 60'192'808, 2048, 7},
        Published{"resnet152_v2", 60'185'256, 2048, 7},
        Published{"ssd300", 19'972'534, 256, 1},
        Published{"unet2d", 31'037'698, 64, 256},
        Published{"unet2d", 31'037'633, 64, 256, {.num_classes = 1}},
        Published{"unet2d_valid", 31'030'658, 64, 388},
        Published{"unet3d", 19'071'585, 64, 64},
        Published{"unet3d", 19'071'715, 64, 64, {.num_classes = 3}}),
    [](const auto& info) {
      std::string name = info.param.model;
      std::ranges::replace(name, '.', '_');
      if (info.param.options.auxiliary_head) name += "_auxiliary";
      const int64_t classes = info.param.options.num_classes;
      return classes > 0 ? fmt::format("{}_{}_classes", name, classes) : name;
    });

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
    EXPECT_EQ(model.images.shape().dim(0), spec.default_batch_size);
    EXPECT_EQ(model.images.shape().dim(1), spec.default_image_size);
    EXPECT_EQ(model.images.dtype(),
              spec.reads_tokens ? DType::kInt32 : DType::kFloat32);
    EXPECT_EQ(model.images.shape().dim(-1), spec.default_channels);
    EXPECT_EQ(model.images.shape().rank(), spec.spatial_rank + 2);
    EXPECT_EQ(model.labels.type().dtype, DType::kInt32);
    EXPECT_EQ(model.labels.shape().dim(0), spec.default_batch_size);
    const int64_t rows = model.labels.shape().num_elements();
    // A single class has two logits.
    const int64_t classes = std::max<int64_t>(spec.default_num_classes, 2);
    EXPECT_EQ(model.logits.shape(), (Shape{rows, classes}));
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
  const auto variables = [](const ModelSpec& spec, bool is_training) {
    GraphBuilder g(StandardOps());
    EXPECT_THAT(BuildModel(g, spec.name,
                           {.is_training = is_training,
                            .auxiliary_head = spec.has_auxiliary_head}),
                IsOk());
    std::map<std::string, TensorType> result;
    for (const Node& node : g.graph().nodes()) {
      if (node.op == "Variable") {
        result[node.name] = g.graph().type(node.outputs[0]);
      }
    }
    return result;
  };
  for (const ModelSpec& spec : Zoo()) {
    EXPECT_EQ(variables(spec, true), variables(spec, false)) << spec.name;
  }
}

// Separate nodes would cost an unnecessary map each.
TEST(ZooTest, BatchNormIncludesReluAndShortcutsWhereItCan) {
  const auto count = [](const char* model, const char* op) {
    GraphBuilder g(StandardOps());
    EXPECT_THAT(BuildModel(g, model, {.batch_size = 1}), IsOk());
    return std::ranges::count(g.graph().nodes(), op, &Node::op);
  };
  for (const char* model : {"densenet40_k12", "inception3", "inception4",
                            "resnet20", "resnet20_v2", "resnet50"}) {
    EXPECT_EQ(count(model, "Relu"), 0) << model;
  }
  for (const char* model : {"mobilenet_v2", "resnet20", "resnet50"}) {
    EXPECT_EQ(count(model, "Add"), 0) << model;
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

TEST(ZooTest, AnUnknownNameIsAnsweredWithTheNearestOne) {
  const auto expect = [](const char* name, const std::string& nearest) {
    EXPECT_THAT(FindModel(name),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("did you mean '" + nearest + "'?")));
  };
  expect("googlnet", "googlenet");
  expect("inception_3", "inception3");
  expect("resnet50_v1_5", "resnet50_v1.5");
  expect("VGG16", "vgg16");
  expect("vgg13", "vgg11");  // of equally near names, the first
  expect("densenet40", "densenet40_k12");
}

TEST(ZooTest, OnlySomeModelsHaveAnAuxiliaryHead) {
  GraphBuilder g(StandardOps());
  EXPECT_THAT(BuildModel(g, "googlenet", {.auxiliary_head = true}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("googlenet has no auxiliary head")));
}

// tf_cnn_benchmarks adds its usual classifier after the network's own.
TEST(ZooTest, MobileNetHasASecondClassifierBehindItsOwn) {
  GraphBuilder g(StandardOps());
  ASSERT_THAT(BuildModel(g, "mobilenet", {.batch_size = 1, .num_classes = 7}),
              IsOk());
  const auto shape = [&](const char* variable) {
    const Graph& graph = g.graph();
    return graph.type(graph.output(*graph.FindNode(variable))).shape;
  };
  EXPECT_EQ(shape("classes/weights"), (Shape{1280, 1001}));
  EXPECT_EQ(shape("logits/weights"), (Shape{1001, 7}));
}

TEST(ZooTest, DropoutIsAsPublishedAndOnlyInTraining) {
  const auto rates = [](const char* model, bool is_training) {
    GraphBuilder g(StandardOps());
    EXPECT_THAT(
        BuildModel(g, model, {.batch_size = 1, .is_training = is_training}),
        IsOk());
    std::vector<double> result;
    for (const Node& node : g.graph().nodes()) {
      if (node.op != "Dropout") continue;
      result.push_back(node.attributes.GetReal("rate").value());
    }
    return result;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(rates("inception4", true), ElementsAre(0.2));
  EXPECT_THAT(rates("mobilenet_v2", true), ElementsAre(0.2));
  EXPECT_THAT(rates("nasnet", true), ElementsAre(0.5));
  EXPECT_THAT(rates("nasnet_cifar", true), ElementsAre());
  EXPECT_THAT(rates("inception4", false), ElementsAre());
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
