// Training with bfloat16 activations: variables, slots and loss stay float32,
// and a step equals the float32 step up to rounding.
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bfloat16.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "executor/session/session.h"
#include "graph/well_known_ops.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "ops/cpu/lanes.h"
#include "tests/support/new_session.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using testing::NewSession;

constexpr int64_t kBatch = 24;
constexpr int64_t kFeatures = 20;
constexpr int64_t kClasses = 5;

struct MixedNetwork {
  Graph graph = {};
  ValueId images = {};
  ValueId labels = {};
  ValueId logits = {};
  ValueId loss = {};
};

// dense, bias, relu, batch norm, relu, dropout, dense, bias, softmax
absl::StatusOr<MixedNetwork> Build(DType dtype) {
  GraphBuilder g(StandardOps());
  const Tensor images = g.Placeholder("images", dtype, {kBatch, kFeatures});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {kBatch});
  Tensor x = Dense(g.Scope("fc1"), images,
                   {.units = 16, .activation = Activation::kRelu});
  x = BatchNorm(g.Scope("bn"), x, {.activation = Activation::kRelu});
  x = Dropout(g.Scope("dropout"), x, {.rate = 0.25});
  const Tensor logits = Dense(g.Scope("fc2"), x, {.units = kClasses});
  const Tensor loss =
      SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, labels);
  Minimize(g.Scope("optimizer"), loss, Momentum{.learning_rate = 0.1});
  MixedNetwork network = {.images = images.id(),
                          .labels = labels.id(),
                          .logits = logits.id(),
                          .loss = loss.id()};
  SPILLWAY_ASSIGN_OR_RETURN(network.graph, std::move(g).Build());
  return network;
}

// The same images in both dtypes: bfloat16 represents them exactly.
template <typename T>
std::vector<T> Images() {
  std::vector<T> images;
  for (uint64_t i = 0; i < kBatch * kFeatures; ++i) {
    const BFloat16 x = ToBFloat16(static_cast<float>(NormalAt(3, i)));
    if constexpr (std::is_same_v<T, BFloat16>) {
      images.push_back(x);
    } else {
      images.push_back(ToFloat(x));
    }
  }
  return images;
}

struct OneStep {
  float loss = 0;
  TensorType logits = {};
  std::map<std::string, HostTensor> variables = {};  // after it
};

template <typename T>
absl::StatusOr<OneStep> TrainOneStep(const MixedNetwork& network) {
  SPILLWAY_ASSIGN_OR_RETURN(
      auto session, NewSession({.graph = network.graph,
                                .fetches = {network.loss, network.logits}},
                               {.threads = 2}));
  const std::vector<T> images = Images<T>();
  std::vector<int32_t> labels;
  for (int32_t i = 0; i < kBatch; ++i) labels.push_back(i % kClasses);
  const Graph& graph = network.graph;
  SPILLWAY_ASSIGN_OR_RETURN(
      const StepResult result,
      session->Step(
          {{network.images, {graph.type(network.images), images.data()}},
           {network.labels, {graph.type(network.labels), labels.data()}}}));
  SPILLWAY_ASSIGN_OR_RETURN(const float loss, result.scalar(network.loss));
  OneStep step = {.loss = loss,
                  .logits = result.fetched.at(network.logits).type};
  SPILLWAY_ASSIGN_OR_RETURN(step.variables, session->ReadVariables());
  return step;
}

TEST(MixedPrecision, KeepsVariablesInFloat32WithoutCasts) {
  ASSERT_OK_AND_ASSIGN(const MixedNetwork network, Build(DType::kBFloat16));
  for (const Node& node : network.graph.nodes()) {
    EXPECT_NE(node.op, "Cast") << node.name;
    if (node.op != kVariable) continue;
    EXPECT_EQ(network.graph.type(node.outputs[0]).dtype, DType::kFloat32)
        << node.name;
  }
  EXPECT_EQ(network.graph.type(network.logits).dtype, DType::kBFloat16);
  EXPECT_EQ(network.graph.type(network.loss).dtype, DType::kFloat32);
}

TEST(MixedPrecision, TakesTheStepThatFloat32Takes) {
  if (!HasAvx512()) GTEST_SKIP() << "needs a CPU with AVX-512";
  ASSERT_OK_AND_ASSIGN(const MixedNetwork narrow, Build(DType::kBFloat16));
  ASSERT_OK_AND_ASSIGN(const MixedNetwork wide, Build(DType::kFloat32));
  ASSERT_OK_AND_ASSIGN(const OneStep got, TrainOneStep<BFloat16>(narrow));
  ASSERT_OK_AND_ASSIGN(const OneStep want, TrainOneStep<float>(wide));
  EXPECT_EQ(got.logits.dtype, DType::kBFloat16);
  EXPECT_NEAR(got.loss, want.loss, 0.02 * want.loss);
  ASSERT_EQ(got.variables.size(), want.variables.size());
  for (const auto& [name, expected] : want.variables) {
    const HostTensor& variable = got.variables.at(name);
    ASSERT_EQ(variable.type, expected.type) << name;
    for (int64_t i = 0; i < expected.type.num_elements(); ++i) {
      EXPECT_NEAR(variable.data<float>()[i], expected.data<float>()[i], 0.02)
          << name << "[" << i << "]";
    }
  }
}

}  // namespace
}  // namespace spillway
