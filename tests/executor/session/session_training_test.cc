// Training steps with the real ops: a session's results are bitwise identical
// to those of the naive evaluation, on every CPU backend, with and without
// swaps.
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "executor/session/session.h"
#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "lms/lms.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "tests/support/eval_graph.h"
#include "tests/support/host_tensor.h"
#include "tests/support/new_session.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using testing::EvalGraph;
using testing::EvalState;
using testing::FeedsOf;
using testing::IsOk;
using testing::NewSession;

constexpr uint64_t kTrainingSeed = 7;
constexpr int kSteps = 4;

struct TrainingGraph {
  Graph graph;
  ValueId loss;
};

// loss = mean((x w + b - y)^2), by gradient descent.
TrainingGraph LinearModel() {
  GraphBuilder g(StandardOps(), "linear");
  const Tensor x = g.Placeholder("x", DType::kFloat32, {32, 8});
  const Tensor y = g.Placeholder("y", DType::kFloat32, {32, 3});
  const auto variable = [&](const char* name, const Shape& shape) {
    return g.Add(g,
                 {.op = std::string(kVariable),
                  .attributes = {{"dtype", DType::kFloat32},
                                 {"shape", shape},
                                 {"initializer",
                                  AttributeValue::Object{{"kind", "normal"}}}},
                  .name = name});
  };
  const Tensor product =
      g.Add(g, {.op = "MatMul", .inputs = {x, variable("w", {8, 3})}});
  const Tensor fit =
      g.Add(g, {.op = "BiasAdd", .inputs = {product, variable("b", {3})}});
  const Tensor miss = g.Add(g, {.op = "Sub", .inputs = {fit, y}});
  const Tensor square = g.Add(g, {.op = "Mul", .inputs = {miss, miss}});
  const Tensor loss =
      g.Add(g, {.op = "Mean",
                .inputs = {square},
                .attributes = {{"axes", std::vector<int64_t>{0, 1}}},
                .name = "loss"});
  Minimize(g.Scope("optimizer"), loss, Sgd{.learning_rate = 0.05});
  return {.graph = std::move(g).Build().value(), .loss = loss.id()};
}

TrainingGraph SmallLeNet() {
  GraphBuilder g(StandardOps(), "lenet");
  const ModelGraph model =
      BuildModel(g, "lenet",
                 {.batch_size = 4, .image_size = 16, .num_classes = 10})
          .value();
  Minimize(g.Scope("optimizer"), model.loss, Momentum{});
  return {.graph = std::move(g).Build().value(), .loss = model.loss.id()};
}

// Normally distributed numbers, or classes below ten, for every placeholder.
std::map<ValueId, HostTensor> RandomTensors(const Graph& graph, uint64_t key) {
  std::map<ValueId, HostTensor> feeds;
  for (const Node& node : graph.nodes()) {
    if (node.op != kPlaceholder) continue;
    HostTensor& feed = feeds[node.outputs[0]];
    feed.type = graph.type(node.outputs[0]);
    feed.bytes.resize(static_cast<size_t>(feed.type.num_bytes()));
    const auto elements = static_cast<uint64_t>(feed.type.num_elements());
    for (uint64_t i = 0; i < elements; ++i) {
      std::byte* at = feed.bytes.data() + 4 * i;
      if (feed.type.dtype == DType::kFloat32) {
        const auto number = static_cast<float>(NormalAt(key, i));
        std::memcpy(at, &number, sizeof(number));
      } else {
        const auto label = static_cast<int32_t>(Philox4x32(key, i)[0] % 10);
        std::memcpy(at, &label, sizeof(label));
      }
    }
  }
  return feeds;
}

// The parameter is the device's name.
class SessionTrainingTest : public ::testing::TestWithParam<std::string> {
 protected:
  // Compares kSteps of `graph` on the device with a naive evaluation of
  // `original`.
  void CompareWithNaive(const TrainingGraph& original, const Graph& graph) {
    ASSERT_OK_AND_ASSIGN(
        session_, NewSession({.graph = graph, .fetches = {original.loss}},
                             {.device = GetParam(), .seed = kTrainingSeed}));
    EvalState naive = {.seed = kTrainingSeed, .threads = 1};
    // The same batch in every step, so that the loss must fall.
    const auto feeds = RandomTensors(original.graph, 99);
    std::vector<float> losses;
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<ValueId> fetches = {original.loss};
      ASSERT_OK_AND_ASSIGN(const auto expected,
                           EvalGraph(original.graph, feeds, fetches, naive));
      ASSERT_OK_AND_ASSIGN(const StepResult result,
                           session_->Step(FeedsOf(feeds)));
      ASSERT_EQ(result.fetched.at(original.loss).bytes,
                expected.at(original.loss).bytes);
      losses.push_back(result.scalar(original.loss).value());
    }
    EXPECT_LT(losses.back(), losses.front());
    ASSERT_OK_AND_ASSIGN(const auto variables, session_->ReadVariables());
    ASSERT_EQ(variables.size(), naive.variables.size());
    for (const auto& [name, value] : variables) {
      EXPECT_EQ(value.bytes, naive.variables.at(name).bytes) << name;
    }
    EXPECT_EQ(Checksum(variables), Checksum(naive.variables));
  }

  std::unique_ptr<Session> session_;
};

TEST_P(SessionTrainingTest, ALinearModelTrainsAsTheNaiveEvaluation) {
  const TrainingGraph linear = LinearModel();
  CompareWithNaive(linear, linear.graph);
}

TEST_P(SessionTrainingTest, LeNetTrainsAsTheNaiveEvaluation) {
  const TrainingGraph lenet = SmallLeNet();
  CompareWithNaive(lenet, lenet.graph);
}

TEST_P(SessionTrainingTest, LeNetWithSwapsTrainsAsTheNaiveEvaluation) {
  const TrainingGraph lenet = SmallLeNet();
  Graph edited = lenet.graph;
  ASSERT_THAT(ApplyLms({.mode = LmsMode::kV1}, edited), IsOk());
  CompareWithNaive(lenet, edited);
  EXPECT_GT(session_->copies(0)->swap_outs, 0);
  EXPECT_GE(session_->copies(0)->swap_ins, session_->copies(0)->swap_outs);
  EXPECT_EQ(session_->memory().measured_device_bytes,
            session_->memory().predicted_device_bytes);
  EXPECT_EQ(session_->memory().measured_host_bytes,
            session_->memory().predicted_host_bytes);
  EXPECT_EQ(session_->memory().allocations_in_steps, 0);
}

INSTANTIATE_TEST_SUITE_P(CpuBackends, SessionTrainingTest,
                         ::testing::Values("inline", "cpu"));

}  // namespace
}  // namespace spillway
