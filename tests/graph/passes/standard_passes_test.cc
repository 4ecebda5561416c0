// With every pass the results are bitwise identical.
#include "graph/passes/standard_passes.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/layers/layers.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "tests/graph/passes/add_halves.h"
#include "tests/support/eval_graph.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::EvalGraph;
using testing::EvalState;
using ::testing::HasSubstr;
using testing::MakeHostTensor;
using testing::StatusIs;

struct Step {
  Graph graph;
  ValueId images;
  ValueId labels;
  ValueId loss;
};

// Convolutions without any fused layer, one of them twice, with shortcuts, a
// sum of slices, concatenations, and an unused node.
Tensor UnfusedNetwork(GraphBuilder& g, Tensor x) {
  const Conv2DOptions conv = {.filters = 8, .kernel = {3, 3}};
  x = Conv2D(g.Scope("stem"), x, conv);
  x = Relu(g.Scope("stem"), x);
  const Tensor shortcut = x;
  x = Conv2D(g.Scope("conv1"), x, conv);
  x = Relu(g.Scope("conv1"), BatchNorm(g.Scope("conv1"), x, {}));
  x = Conv2D(g.Scope("conv2"), x, conv);
  x = Add(g.Scope("conv2"), BatchNorm(g.Scope("conv2"), x, {}), shortcut);
  x = Relu(g.Scope("conv2"), x);
  x = Add(g.Scope("conv3"), Conv2D(g.Scope("conv3"), x, {.filters = 8}), x);
  Activate(g.Scope("unused"), x, Activation::kTanh);
  const PoolOptions pool = {};
  x = Add(g.Scope("pools"), MaxPool(g.Scope("pool1"), x, pool),
          MaxPool(g.Scope("pool2"), x, pool));
  x = testing::AddHalves(g.Scope("halves"), x);
  x = ConcatChannels(g.Scope("joined"),
                     {Relu(g.Scope("positive"), x),
                      Activate(g.Scope("bounded"), x, Activation::kTanh)});
  x = ConcatChannels(
      g.Scope("more"),
      {x, Relu(g.Scope("norm"), BatchNorm(g.Scope("norm"), x, {}))});
  return Dense(g.Scope("logits"), Flatten(g.Scope("flat"), x), {.units = 3});
}

Step TrainingStep() {
  GraphBuilder g(StandardOps());
  Step step;
  const Tensor images = g.Placeholder("images", DType::kFloat32, {2, 6, 6, 2});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {2});
  const Tensor loss = SparseSoftmaxCrossEntropy(
      g.Scope("loss"), UnfusedNetwork(g, images), labels);
  Minimize(g.Scope("momentum"), loss, Momentum());
  step.images = images.id();
  step.labels = labels.id();
  step.loss = loss.id();
  auto graph = std::move(g).Build();
  EXPECT_THAT(graph, testing::IsOk());
  step.graph = *std::move(graph);
  return step;
}

Step Optimized(const Step& step, const std::string& names) {
  const auto passes = SelectPasses(names, PassTarget::kCpu);
  EXPECT_THAT(passes, testing::IsOk());
  const std::vector<ValueId> keep = {step.images, step.labels, step.loss};
  auto result = RunPasses(step.graph, StandardOps(), *passes, keep);
  EXPECT_THAT(result, testing::IsOk());
  return {.graph = result->graph,
          .images = result->at(step.images),
          .labels = result->at(step.labels),
          .loss = result->at(step.loss)};
}

struct Outcome {
  std::vector<float> losses;
  std::map<std::string, std::vector<std::byte>> variables;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome Train(const Step& step) {
  std::vector<float> pixels;
  const TensorType& images = step.graph.type(step.images);
  for (int64_t i = 0; i < images.num_elements(); ++i) {
    pixels.push_back(static_cast<float>(NormalAt(3, static_cast<uint64_t>(i))));
  }
  const std::map<ValueId, HostTensor> feeds = {
      {step.images, MakeHostTensor(images, pixels)},
      {step.labels, MakeHostTensor(step.graph.type(step.labels),
                                   std::vector<int32_t>{0, 2})}};
  EvalState state = {.seed = 5};
  Outcome outcome;
  for (int i = 0; i < 3; ++i) {
    const auto result =
        EvalGraph(step.graph, feeds, std::vector{step.loss}, state);
    EXPECT_THAT(result, testing::IsOk());
    outcome.losses.push_back(*result->at(step.loss).data<float>());
  }
  for (const auto& [name, tensor] : state.variables) {
    outcome.variables[name] = tensor.bytes;
  }
  return outcome;
}

class StandardPassesTest : public ::testing::TestWithParam<const char*> {};

TEST_P(StandardPassesTest, ResultsKeepTheirBits) {
  const Step step = TrainingStep();
  const Step optimized = Optimized(step, GetParam());
  EXPECT_LT(optimized.graph.num_nodes(), step.graph.num_nodes());
  EXPECT_EQ(Train(optimized), Train(step));
}

INSTANTIATE_TEST_SUITE_P(
    Passes, StandardPassesTest,
    ::testing::Values("all", "remove_dead_nodes", "merge_common_nodes",
                      "join_slices", "fuse_batch_norm_relu", "fuse_bias_relu",
                      "accumulate_gradients", "fuse_matmul_bias", "read_parts",
                      "read_parts,grow_concats", "fuse_updates",
                      "fuse_batch_norm_relu,save_masks"),
    [](const auto& info) {
      std::string name = info.param;
      std::ranges::replace(name, ',', '_');
      return name;
    });

TEST(SelectPassesTest, NamesAreTakenInTheStandardOrder) {
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Pass> passes,
      SelectPasses("fuse_bias_relu,remove_dead_nodes", PassTarget::kCpu));
  std::vector<std::string> names;
  for (const Pass& pass : passes) names.emplace_back(pass.name);
  EXPECT_THAT(names, ElementsAre("remove_dead_nodes", "fuse_bias_relu"));
}

TEST(SelectPassesTest, AutoGoesByTheDevice) {
  const auto count = [](const char* names, PassTarget target) {
    const auto passes = SelectPasses(names, target);
    EXPECT_THAT(passes, testing::IsOk());
    return passes->size();
  };
  EXPECT_EQ(count("auto", PassTarget::kCpu), 8U);
  EXPECT_EQ(count("auto", PassTarget::kGpu), 9U);
  EXPECT_EQ(count("all", PassTarget::kCpu), 11U);
  EXPECT_EQ(count("fuse_updates", PassTarget::kCpu), 1U);
}

TEST(SelectPassesTest, NoneIsNone) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Pass> passes,
                       SelectPasses("none", PassTarget::kGpu));
  EXPECT_TRUE(passes.empty());
}

TEST(SelectPassesTest, AnUnknownPassListsTheKnownOnes) {
  EXPECT_THAT(SelectPasses("fuse_all", PassTarget::kCpu),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'fuse_all'"),
                             HasSubstr("merge_common_nodes"))));
}

}  // namespace
}  // namespace spillway
