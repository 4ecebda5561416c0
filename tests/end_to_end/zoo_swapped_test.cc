// Every network of the zoo trains with every tensor swapped to the same bits as
// without, in exactly the memory that was predicted.
#include <map>
#include <string>
#include <string_view>

#include "models/zoo.h"
#include "tests/end_to_end/train_model.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ExpectExactMemory;
using testing::IsOk;
using testing::TrainedModel;
using testing::TrainModel;
using testing::TrainModelSpec;

// An image size that is quick to train, for each network.
const std::map<std::string_view, int64_t>& SmallSizes() {
  static const std::map<std::string_view, int64_t> sizes = {
      {"alexnet", 67},        {"alexnet_cifar", 32},  {"cifar10_full", 32},
      {"densenet100_k12", 8}, {"densenet100_k24", 8}, {"densenet40_k12", 8},
      {"googlenet", 32},      {"inception3", 75},     {"inception4", 75},
      {"lenet", 28},          {"mnist_deep", 28},     {"mobilenet", 32},
      {"mobilenet_v2", 32},   {"nasnet", 32},         {"nasnet_cifar", 16},
      {"nasnetlarge", 32},    {"overfeat", 103},      {"resnet101", 32},
      {"resnet101_v1.5", 32}, {"resnet101_v2", 32},   {"resnet110", 16},
      {"resnet110_v2", 16},   {"resnet152", 32},      {"resnet152_v1.5", 32},
      {"resnet152_v2", 32},   {"resnet20", 16},       {"resnet20_v2", 16},
      {"resnet32", 16},       {"resnet32_v2", 16},    {"resnet44", 16},
      {"resnet44_v2", 16},    {"resnet50", 32},       {"resnet50_v1.5", 32},
      {"resnet50_v2", 32},    {"resnet56", 16},       {"resnet56_v2", 16},
      {"ssd300", 264},        {"trivial", 16},        {"unet2d", 20},
      {"unet2d_valid", 188},  {"unet3d", 8},          {"vgg11", 32},
      {"vgg16", 32},          {"vgg19", 32}};
  return sizes;
}

class ZooSwappedTest : public ::testing::TestWithParam<ModelSpec> {};

TEST_P(ZooSwappedTest, SwappingEverythingChangesNoBit) {
  const std::string name(GetParam().name);
  ASSERT_TRUE(SmallSizes().contains(name)) << "give " << name << " a size";
  TrainModelSpec spec = {.model = name,
                         .batch_size = 2,
                         .image_size = SmallSizes().at(name),
                         .num_classes = 4,
                         .optimizer = Sgd{.learning_rate = 0.001},
                         .steps = 1};
  ASSERT_OK_AND_ASSIGN(const TrainedModel kept, TrainModel(spec));
  spec.device = "cpu";
  spec.lms = {.mode = LmsMode::kV1};
  ASSERT_OK_AND_ASSIGN(const TrainedModel swapped, TrainModel(spec));
  EXPECT_GT(swapped.copies.swap_outs, 0);
  EXPECT_EQ(swapped.losses, kept.losses);
  EXPECT_EQ(swapped.checksum, kept.checksum);
  ExpectExactMemory(kept);
  ExpectExactMemory(swapped);
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooSwappedTest,
                         ::testing::ValuesIn(Zoo().begin(), Zoo().end()),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace spillway
