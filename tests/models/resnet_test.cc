// The residual networks run: batch norm, shortcuts and all.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "executor/device/registry.h"
#include "executor/session.h"
#include "gtest/gtest.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using testing::IsOk;

class ResNetTest : public ::testing::TestWithParam<const char*> {};

// Losses of `num_steps` steps over one and the same random batch of four.
absl::StatusOr<std::vector<double>> Losses(const char* name, int num_steps) {
  GraphBuilder g(StandardOps());
  ASSIGN_OR_RETURN(
      const ModelGraph model,
      BuildModel(g, name,
                 {.batch_size = 4, .image_size = 33, .num_classes = 4}));
  Minimize(g.Scope("optimizer"), model.loss, Momentum());
  std::vector<float> images(
      static_cast<size_t>(model.images.shape().num_elements()));
  for (size_t i = 0; i < images.size(); ++i) {
    images[i] = static_cast<float>(NormalAt(5, i));
  }
  const std::vector<int32_t> labels = {0, 1, 2, 3};
  const Feeds feeds = {
      {model.images.id(), {model.images.type(), images.data()}},
      {model.labels.id(), {model.labels.type(), labels.data()}}};

  std::vector<Program> programs(1);
  programs[0].fetches = {model.loss.id()};
  ASSIGN_OR_RETURN(programs[0].graph, std::move(g).Build());
  ASSIGN_OR_RETURN(auto device, NewDevice("cpu", {.threads = 1}));
  ASSIGN_OR_RETURN(const auto session,
                   Session::Create(std::move(programs), std::move(device),
                                   {.ops = &StandardOps(),
                                    .kernels = &StandardKernels(),
                                    .threads = 1}));
  std::vector<double> losses;
  for (int i = 0; i < num_steps; ++i) {
    ASSIGN_OR_RETURN(const StepResult step, session->Step(feeds));
    losses.push_back(step.scalar(model.loss.id()));
  }
  return losses;
}

TEST_P(ResNetTest, LearnsOneSmallBatchByHeart) {
  ASSERT_OK_AND_ASSIGN(const std::vector<double> losses, Losses(GetParam(), 8));
  for (const double loss : losses) EXPECT_TRUE(std::isfinite(loss)) << loss;
  EXPECT_LT(losses.back(), losses.front() / 4);
  RecordProperty("first_loss", std::to_string(losses.front()));
  RecordProperty("last_loss", std::to_string(losses.back()));
}

INSTANTIATE_TEST_SUITE_P(Versions, ResNetTest,
                         ::testing::Values("resnet50", "resnet50_v1.5",
                                           "resnet50_v2"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace spillway
