// Networks of the zoo run a training step on small images, which runs all of
// their kernels, forward and backward.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "executor/session/session.h"
#include "gtest/gtest.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "tests/support/new_session.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using testing::NewSession;

struct Small {
  std::string model;
  ModelOptions options = {};
};

std::vector<float> RandomImages(const Shape& shape) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    values.push_back(static_cast<float>(NormalAt(3, static_cast<uint64_t>(i))));
  }
  return values;
}

class TrainingStepTest : public ::testing::TestWithParam<Small> {};

TEST_P(TrainingStepTest, TheLossIsFiniteAndMoves) {
  ModelOptions options = GetParam().options;
  options.batch_size = 4;
  options.num_classes = 4;
  GraphBuilder g(StandardOps());
  ASSERT_OK_AND_ASSIGN(const ModelGraph model,
                       BuildModel(g, GetParam().model, options));
  const TensorType image_type = model.images.type();
  const TensorType label_type = model.labels.type();
  Minimize(g.Scope("sgd"), model.loss, Sgd{.learning_rate = 1e-3});
  ASSERT_OK_AND_ASSIGN(Graph graph, std::move(g).Build());
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      NewSession({.graph = std::move(graph), .fetches = {model.loss.id()}}));
  const std::vector<float> images = RandomImages(image_type.shape);
  const std::vector<int32_t> labels = {0, 1, 2, 3};
  const auto loss = [&]() -> absl::StatusOr<double> {
    SPILLWAY_ASSIGN_OR_RETURN(
        const StepResult step,
        session->Step({{model.images.id(), {image_type, images.data()}},
                       {model.labels.id(), {label_type, labels.data()}}}));
    return step.scalar(model.loss.id());
  };
  ASSERT_OK_AND_ASSIGN(const double first, loss());
  ASSERT_OK_AND_ASSIGN(const double second, loss());
  EXPECT_TRUE(std::isfinite(first)) << first;
  EXPECT_TRUE(std::isfinite(second)) << second;
  EXPECT_NE(second, first);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, TrainingStepTest,
    ::testing::Values(Small{"alexnet_cifar", {.image_size = 16}},
                      Small{"cifar10_full", {.image_size = 28, .channels = 1}},
                      Small{"densenet40_k12", {.image_size = 12}},
                      Small{"googlenet", {.image_size = 49}},
                      Small{"inception3", {.image_size = 75}},
                      Small{"mobilenet_v2", {.image_size = 49}},
                      Small{"nasnet", {.image_size = 67}},
                      Small{"nasnet_cifar",
                            {.image_size = 20, .auxiliary_head = true}},
                      Small{"resnet20", {.image_size = 28, .channels = 1}},
                      Small{"resnet20_v2", {.image_size = 28, .channels = 1}}),
    [](const auto& info) { return info.param.model; });

}  // namespace
}  // namespace spillway
