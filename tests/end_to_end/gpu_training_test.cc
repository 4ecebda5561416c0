// Networks trained on a fake GPU (fake_gpu.h).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "lms/lms.h"
#include "models/layers/layers.h"
#include "tests/end_to_end/fake_gpu.h"
#include "tests/end_to_end/train_model.h"
#include "tests/support/random_network.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using testing::IsOk;
using testing::LeastCases;
using testing::MakeRandomNetwork;
using testing::NumCases;
using testing::RandomNetwork;
using testing::StatusIs;
using testing::TrainedModel;

class GpuTrainingTest : public testing::FakeGpuTest {
 protected:
  absl::StatusOr<TrainedModel> Train(const Graph& graph,
                                     const RandomNetwork& network) {
    SPILLWAY_ASSIGN_OR_RETURN(
        const std::unique_ptr<Session> session,
        NewSession({.graph = graph, .fetches = {network.loss}},
                   /*capture_steps=*/false));
    return TrainSession(*session, graph, network.loss, SpecOf(network));
  }

  static testing::TrainGraphSpec SpecOf(const RandomNetwork& network) {
    return FakeGpuTest::SpecOf(network, 2);
  }
};

// A convolution and `layer` three times, with a residual connection around the
// second pair.
RandomNetwork SmallNetwork(
    const std::function<Tensor(const NameScope&, Tensor)>& layer) {
  GraphBuilder g(StandardOps(), "small");
  Tensor x = g.Placeholder("images", DType::kFloat32, {2, 8, 8, 3});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {2});
  for (const char* name : {"a", "b", "c"}) {
    const NameScope scope = g.Scope(name);
    const Tensor y =
        layer(scope, Conv2D(scope, x, {.filters = 8, .kernel = {3, 3}}));
    x = std::string_view(name) == "b" ? Add(scope, x, y) : y;
  }
  const Tensor logits =
      Dense(g.Scope("logits"), Flatten(g.Scope("flat"), x), {.units = 4});
  const Tensor loss =
      SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, labels);
  Minimize(g.Scope("optimizer"), loss, Momentum{.learning_rate = 0.02});
  return {.graph = std::move(g).Build().value(),
          .loss = loss.id(),
          .num_classes = 4};
}

RandomNetwork SmallNetworkWithBatchNorm() {
  return SmallNetwork([](const NameScope& scope, Tensor x) {
    return BatchNorm(scope, x, {.activation = Activation::kRelu});
  });
}

RandomNetwork SmallNetworkWithDropout() {
  return SmallNetwork([](const NameScope& scope, Tensor x) {
    return Dropout(scope, Relu(scope, x), {.rate = 0.3});
  });
}

// The clones in an edited graph, by op.
std::map<std::string, int> ClonesByOp(const Graph& edited) {
  std::map<std::string, int> clones;
  for (const Node& node : edited.nodes()) {
    if (IsCloneName(node.name)) ++clones[node.op];
  }
  return clones;
}

// The loss of given logits [3, 4].
struct Loss {
  Graph graph;
  ValueId labels;
  ValueId loss;
};

// Labels are int32, or floats that the graph casts.
Loss MakeLoss(DType labels_dtype) {
  GraphBuilder g(StandardOps(), "loss");
  const Tensor logits = g.Add(g, {.op = std::string(kConst),
                                  .attributes = {{"dtype", DType::kFloat32},
                                                 {"shape", Shape({3, 4})},
                                                 {"value", 1.0}}});
  const Tensor fed = g.Placeholder("labels", labels_dtype, {3});
  const Tensor labels =
      labels_dtype == DType::kInt32
          ? fed
          : g.Add(g, {.op = "Cast",
                      .inputs = {fed},
                      .attributes = {{"dtype", DType::kInt32}}});
  const Tensor loss = g.Add(g, {.op = "SparseSoftmaxCrossEntropyWithLogits",
                                .inputs = {logits, labels},
                                .name = "xent"});
  return {.graph = std::move(g).Build().value(),
          .labels = fed.id(),
          .loss = loss.id()};
}

void ExpectNear(const std::vector<float>& losses,
                const std::vector<float>& expected) {
  ASSERT_EQ(losses.size(), expected.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], 0.02 * std::abs(expected[i]) + 1e-3);
  }
}

TEST_F(GpuTrainingTest, LossesAreThoseOfTheCpu) {
  for (uint64_t seed = 1; seed <= NumCases(12); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    ASSERT_OK_AND_ASSIGN(const RandomNetwork network, MakeRandomNetwork(seed));
    ASSERT_OK_AND_ASSIGN(const TrainedModel on_gpu,
                         Train(network.graph, network));
    ASSERT_OK_AND_ASSIGN(
        const TrainedModel on_cpu,
        TrainGraph(network.graph, network.loss, SpecOf(network)));
    ExpectNear(on_gpu.losses, on_cpu.losses);
    ExpectExactMemory(on_gpu);
  }
}

TEST_F(GpuTrainingTest, RangesAreNamedAsTheNodes) {
  ASSERT_OK_AND_ASSIGN(const RandomNetwork network, MakeRandomNetwork(1));
  ASSERT_OK_AND_ASSIGN(const TrainedModel run, Train(network.graph, network));
  const std::vector<std::string> ranges = cuda_.ranges();
  EXPECT_GT(ranges.size(), 10u);
  for (const std::string& name : ranges) {
    EXPECT_TRUE(network.graph.FindNode(name).has_value()) << name;
  }
}

TEST_F(GpuTrainingTest, FedLabelsOutOfRangeAreRefusedWhereverTheyLie) {
  const Loss made = MakeLoss(DType::kInt32);
  for (const bool capture_steps : {false, true}) {
    ASSERT_OK_AND_ASSIGN(
        const std::unique_ptr<Session> session,
        NewSession({.graph = made.graph, .fetches = {made.loss}},
                   capture_steps));
    auto* pinned =
        reinterpret_cast<int32_t*>(session->FeedBuffer(0, made.labels));
    ASSERT_NE(pinned, nullptr);
    int32_t own[3] = {};
    for (int32_t* labels : {own, pinned}) {
      const Feeds feeds = {{made.labels, Feed({DType::kInt32, {3}}, labels)}};
      for (const int32_t wrong : {4, -1}) {
        std::fill_n(labels, 3, 0);
        labels[2] = wrong;
        EXPECT_THAT(session->Step(feeds),
                    StatusIs(absl::StatusCode::kInvalidArgument,
                             fmt::format("feed labels: element 2 is {}; xent "
                                         "needs a number in [0, 4)",
                                         wrong)));
        labels[2] = 3;
        EXPECT_THAT(session->Step(feeds), IsOk());
      }
    }
  }
}

TEST_F(GpuTrainingTest, ComputedLabelsOutOfRangeMakeTheirRowsNaN) {
  const Loss made = MakeLoss(DType::kFloat32);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session,
                       NewSession({.graph = made.graph, .fetches = {made.loss}},
                                  /*capture_steps=*/false));
  const std::vector<float> labels = {-1, 3, 4};
  ASSERT_OK_AND_ASSIGN(const StepResult step,
                       session->Step({{made.labels, labels}}));
  const auto* losses = step.fetched.at(made.loss).data<float>();
  EXPECT_TRUE(std::isnan(losses[0]));
  EXPECT_NEAR(losses[1], std::log(4.0), 1e-6);
  EXPECT_TRUE(std::isnan(losses[2]));
}

TEST_F(GpuTrainingTest, SwappingChangesNoBit) {
  int64_t swap_outs = 0;
  for (uint64_t seed = 1; seed <= NumCases(12); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    ASSERT_OK_AND_ASSIGN(const RandomNetwork network, MakeRandomNetwork(seed));
    ASSERT_OK_AND_ASSIGN(const TrainedModel kept,
                         Train(network.graph, network));
    for (const LmsMode mode : {LmsMode::kV1, LmsMode::kV2}) {
      Graph swapped = network.graph;
      ASSERT_OK_AND_ASSIGN(const LmsReport report,
                           ApplyLms({.mode = mode,
                                     .v2 = {.swapout_threshold = 1,
                                            .swapin_ahead = 1,
                                            .swapin_groupby = 0}},
                                    swapped));
      swap_outs += report.swap_outs;
      ASSERT_OK_AND_ASSIGN(const TrainedModel run, Train(swapped, network));
      EXPECT_EQ(run.losses, kept.losses);
      EXPECT_EQ(run.checksum, kept.checksum);
      EXPECT_EQ(run.copies.swap_outs, 2 * report.swap_outs);
      ExpectExactMemory(run);
    }
  }
  EXPECT_GT(swap_outs, LeastCases(100));
}

TEST_F(GpuTrainingTest, RecomputationChangesNoBit) {
  std::vector<RandomNetwork> networks = {SmallNetworkWithBatchNorm(),
                                         SmallNetworkWithDropout()};
  for (uint64_t seed = 1; seed <= NumCases(12); ++seed) {
    ASSERT_OK_AND_ASSIGN(networks.emplace_back(), MakeRandomNetwork(seed));
  }
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    ASSERT_OK_AND_ASSIGN(networks.emplace_back(),
                         MakeRandomNetwork(seed, DType::kFloat16));
  }
  std::map<std::string, int> clones;
  for (size_t i = 0; i < networks.size(); ++i) {
    const RandomNetwork& network = networks[i];
    ASSERT_OK_AND_ASSIGN(const TrainedModel kept,
                         Train(network.graph, network));
    for (const RecomputePolicy policy :
         {RecomputePolicy::kCheap, RecomputePolicy::kSqrt}) {
      for (const LmsMode mode : {LmsMode::kOff, LmsMode::kV1}) {
        SCOPED_TRACE(::testing::Message()
                     << "network " << i << " " << RecomputePolicyName(policy)
                     << " " << LmsModeName(mode));
        Graph edited = network.graph;
        ASSERT_THAT(
            ApplyLms({.mode = mode, .recompute = {.policy = policy}}, edited),
            IsOk());
        for (const auto& [op, count] : ClonesByOp(edited)) {
          clones[op] += count;
        }
        ASSERT_OK_AND_ASSIGN(const TrainedModel run, Train(edited, network));
        EXPECT_EQ(run.losses, kept.losses);
        EXPECT_EQ(run.checksum, kept.checksum);
        ExpectExactMemory(run);
      }
    }
  }
  EXPECT_GE(clones["BatchNormApply"], 4);
  EXPECT_GE(clones["Dropout"], 4);
  EXPECT_GE(clones["Conv2D"], LeastCases(4));
}

TEST_F(GpuTrainingTest, Float16TrainsWithTheSameBitsWithAndWithoutSwapping) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    ASSERT_OK_AND_ASSIGN(const RandomNetwork wide,
                         MakeRandomNetwork(seed, DType::kFloat32));
    ASSERT_OK_AND_ASSIGN(const TrainedModel expected,
                         TrainGraph(wide.graph, wide.loss, SpecOf(wide)));
    ASSERT_OK_AND_ASSIGN(const RandomNetwork network,
                         MakeRandomNetwork(seed, DType::kFloat16));
    ASSERT_OK_AND_ASSIGN(const TrainedModel kept,
                         Train(network.graph, network));
    ExpectNear(kept.losses, expected.losses);
    EXPECT_NE(kept.losses, expected.losses);
    Graph swapped = network.graph;
    ASSERT_THAT(ApplyLms({.mode = LmsMode::kV2,
                          .v2 = {.swapout_threshold = 1,
                                 .swapin_ahead = 1,
                                 .swapin_groupby = 0}},
                         swapped),
                testing::IsOk());
    ASSERT_OK_AND_ASSIGN(const TrainedModel run, Train(swapped, network));
    EXPECT_EQ(run.losses, kept.losses);
    EXPECT_EQ(run.checksum, kept.checksum);
    EXPECT_GT(run.copies.swap_outs, 0);
  }
}

}  // namespace
}  // namespace spillway
