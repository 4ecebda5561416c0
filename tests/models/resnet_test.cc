// The residual networks and a few others run, and their whole gradient is
// correct, including batch norm, shortcuts and strides.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
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

using testing::IsOk;
using testing::NewSession;
using Variables = std::map<std::string, HostTensor>;

// Gradient descent on one random batch, with a rate per step.
struct Descent {
  std::unique_ptr<Session> session;
  ModelGraph model;
  Tensor rate;
  std::vector<float> images;
  std::vector<int32_t> labels = {0, 1, 2, 3};

  // The loss before the step.
  absl::StatusOr<double> Step(float learning_rate) {
    const TensorType scalar = {.dtype = DType::kFloat32, .shape = Shape()};
    const TensorType image_type = {.dtype = DType::kFloat32,
                                   .shape = {4, 33, 33, 3}};
    const TensorType label_type = {.dtype = DType::kInt32, .shape = {4}};
    SPILLWAY_ASSIGN_OR_RETURN(
        const StepResult step,
        session->Step({{model.images.id(), {image_type, images.data()}},
                       {model.labels.id(), {label_type, labels.data()}},
                       {rate.id(), {scalar, &learning_rate}}}));
    return step.scalar(model.loss.id());
  }
};

absl::StatusOr<Descent> MakeDescent(const char* name) {
  Descent descent;
  GraphBuilder g(StandardOps());
  SPILLWAY_ASSIGN_OR_RETURN(
      descent.model,
      BuildModel(g, name,
                 {.batch_size = 4, .image_size = 33, .num_classes = 4}));
  descent.rate = g.Placeholder("learning_rate", DType::kFloat32, Shape());
  Minimize(g.Scope("sgd"), descent.model.loss, Sgd(),
           {.learning_rate_feed = descent.rate});
  // Noise on four shades, so that the images differ enough for batch norm.
  const Shape shape = descent.model.images.shape();
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    const int64_t shade = i / (shape.num_elements() / shape.dim(0));
    const double noise = NormalAt(5, static_cast<uint64_t>(i));
    descent.images.push_back(
        static_cast<float>(noise + static_cast<double>(shade)));
  }
  SPILLWAY_ASSIGN_OR_RETURN(Graph graph, std::move(g).Build());
  SPILLWAY_ASSIGN_OR_RETURN(descent.session,
                            NewSession({.graph = std::move(graph),
                                        .fetches = {descent.model.loss.id()}}));
  return descent;
}

// Sum of squared differences, without the moving statistics.
double SquaredDistance(const Variables& a, const Variables& b) {
  double sum = 0;
  for (const auto& [name, tensor] : a) {
    if (name.find("moving") != std::string::npos) continue;
    const float* other = b.at(name).data<float>();
    for (int64_t i = 0; i < tensor.type.num_elements(); ++i) {
      const double difference = tensor.data<float>()[i] - other[i];
      sum += difference * difference;
    }
  }
  return sum;
}

class ResNetTest : public ::testing::TestWithParam<const char*> {};

// A step with rate 1 moves the weights by the gradient. A step with a small
// rate lowers the loss by that rate times the gradient's squared length.
TEST_P(ResNetTest, TheGradientIsTheSlopeOfTheLoss) {
  ASSERT_OK_AND_ASSIGN(Descent descent, MakeDescent(GetParam()));
  ASSERT_OK_AND_ASSIGN(const Variables start, descent.session->ReadVariables());
  ASSERT_OK_AND_ASSIGN(const double loss, descent.Step(1.0f));
  ASSERT_OK_AND_ASSIGN(const Variables far, descent.session->ReadVariables());
  const double slope = SquaredDistance(start, far);
  ASSERT_GT(slope, 0);

  // Large compared with rounding of the weights, small compared with the loss.
  constexpr double kExpected = 0.02;
  ASSERT_THAT(descent.session->WriteVariables(start), IsOk());
  ASSERT_THAT(descent.Step(static_cast<float>(kExpected / slope)), IsOk());
  ASSERT_OK_AND_ASSIGN(const double lower, descent.Step(0.0f));
  EXPECT_NEAR((loss - lower) / kExpected, 1.0, 0.06);
}

INSTANTIATE_TEST_SUITE_P(Versions, ResNetTest,
                         ::testing::Values("alexnet_cifar", "cifar10_full",
                                           "densenet40_k12", "resnet20",
                                           "resnet20_v2", "resnet50",
                                           "resnet50_v1.5", "resnet50_v2"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace spillway
