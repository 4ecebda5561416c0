// A fast training step for each network of the zoo. If the network's variables
// allow it, batches are so large that activations need most of the memory.
#ifndef SPILLWAY_TESTS_END_TO_END_SMALL_STEPS_H_
#define SPILLWAY_TESTS_END_TO_END_SMALL_STEPS_H_

#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::testing {

struct SmallStep {
  int64_t image_size = 0;
  int64_t batch_size = 0;
};

inline const std::map<std::string_view, SmallStep>& SmallSteps() {
  static const std::map<std::string_view, SmallStep> steps = {
      {"alexnet", {67, 2}},         {"alexnet_cifar", {32, 32}},
      {"cifar10_full", {32, 32}},   {"densenet100_k12", {8, 16}},
      {"densenet100_k24", {8, 16}}, {"densenet40_k12", {8, 32}},
      {"googlenet", {32, 32}},      {"gpt_tiny", {16, 8}},
      {"inception3", {75, 8}},      {"inception4", {75, 8}},
      {"lenet", {28, 32}},          {"mnist_deep", {28, 32}},
      {"mobilenet", {32, 32}},      {"mobilenet_v2", {32, 32}},
      {"nasnet", {32, 16}},         {"nasnet_cifar", {16, 8}},
      {"nasnetlarge", {32, 4}},     {"overfeat", {103, 2}},
      {"resnet101", {32, 32}},      {"resnet101_v1.5", {32, 32}},
      {"resnet101_v2", {32, 32}},   {"resnet110", {16, 32}},
      {"resnet110_v2", {16, 32}},   {"resnet152", {32, 32}},
      {"resnet152_v1.5", {32, 32}}, {"resnet152_v2", {32, 32}},
      {"resnet20", {16, 32}},       {"resnet20_v2", {16, 32}},
      {"resnet32", {16, 32}},       {"resnet32_v2", {16, 32}},
      {"resnet44", {16, 32}},       {"resnet44_v2", {16, 32}},
      {"resnet50", {32, 32}},       {"resnet50_v1.5", {32, 32}},
      {"resnet50_v2", {32, 32}},    {"resnet56", {16, 32}},
      {"resnet56_v2", {16, 32}},    {"ssd300", {264, 2}},
      {"trivial", {16, 32}},        {"unet2d", {20, 8}},
      {"unet2d_valid", {188, 1}},   {"unet3d", {8, 2}},
      {"vgg11", {32, 2}},           {"vgg16", {32, 2}},
      {"vgg19", {32, 2}},           {"vit_tiny", {32, 8}}};
  return steps;
}

// The networks of SmallSteps, by name; without SPILLWAY_STRESS, none that only
// has more of the blocks of a smaller one.
inline std::vector<std::string> NetworksToRun() {
  static const std::set<std::string_view> deeper = {
      "densenet100_k12", "densenet100_k24", "nasnetlarge",  "resnet101",
      "resnet101_v1.5",  "resnet101_v2",    "resnet110",    "resnet110_v2",
      "resnet152",       "resnet152_v1.5",  "resnet152_v2", "resnet32",
      "resnet32_v2",     "resnet44",        "resnet44_v2",  "resnet56",
      "resnet56_v2",     "vgg16",           "vgg19"};
  const bool all = std::getenv("SPILLWAY_STRESS") != nullptr;
  std::vector<std::string> names;
  for (const auto& [name, step] : SmallSteps()) {
    if (all || !deeper.contains(name)) names.emplace_back(name);
  }
  return names;
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_END_TO_END_SMALL_STEPS_H_
