#include "tuner/what_if/scaling.h"

#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "simulator/network/collective_cost.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"
#include "tuner/profile/resolve_profile.h"
#include "tuner/simulate.h"
#include "tuner/tune_buckets.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// LeNet's training step on ranks.
Program ReducedStep(int64_t bucket_bytes) {
  GraphBuilder g(StandardOps());
  const ModelGraph model = BuildModel(g, "lenet", {.batch_size = 64}).value();
  MinimizeOptions options;
  options.reduction = GradientReduction{
      .buckets = {.bytes = bucket_bytes, .first_bytes = bucket_bytes}};
  Minimize(g.Scope("optimizer"), model.loss, Sgd{}, options);
  return {.graph = std::move(g).Build().value(), .fetches = {model.loss.id()}};
}

StepOptions OnRanks(int64_t ranks) {
  return {.device = "cpu",
          .threads = 1,
          .lms = {.mode = LmsMode::kOff},
          .profile = "p100_pcie",
          .network = {.workers = ranks, .network_gbps = 1}};
}

absl::StatusOr<std::vector<ScalingPoint>> Scale(
    const StepPrediction& predicted, const std::vector<int64_t>& ranks,
    const DeviceProfile& profile) {
  return PredictScaling({.graph = &predicted.chosen.graph,
                         .plan = &predicted.plan,
                         .algorithms = predicted.chosen.algorithms,
                         .profile = &profile,
                         .ranks = ranks});
}

class ScalingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(predicted_,
                         Simulate(ReducedStep(100'000), OnRanks(8)));
    ASSERT_OK_AND_ASSIGN(profile_, ResolveProfile(OnRanks(8)));
  }

  StepPrediction predicted_;
  DeviceProfile profile_;
};

TEST_F(ScalingTest, EachPointIsTheSimulationWithSoManyRanks) {
  ASSERT_OK_AND_ASSIGN(const auto points,
                       Scale(predicted_, {1, 2, 8, 4096}, profile_));
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[0].efficiency, 1);
  EXPECT_EQ(points[0].communication_ns, 0);
  EXPECT_EQ(points[2].step_ns, predicted_.step.step_ns);
  for (size_t i = 1; i < points.size(); ++i) {
    EXPECT_GE(points[i].step_ns, points[i - 1].step_ns);
    EXPECT_DOUBLE_EQ(points[i].efficiency,
                     static_cast<double>(points[0].step_ns) /
                         static_cast<double>(points[i].step_ns));
    EXPECT_LE(points[i].exposed_ns, points[i].communication_ns);
    EXPECT_GE(points[i].step_ns, points[0].step_ns + points[i].exposed_ns / 2);
  }
  // At least what the nodes take on the network.
  double network_ns = 0;
  for (const Node& node : predicted_.chosen.graph.nodes()) {
    if (!IsCollective(node.op)) continue;
    network_ns +=
        CollectiveNs(*profile_.network, predicted_.chosen.graph, node);
  }
  EXPECT_GT(network_ns, 0);
  EXPECT_GE(static_cast<double>(points[2].communication_ns), network_ns - 10);
}

TEST_F(ScalingTest, AStagedAllReduceIsSlower) {
  ASSERT_OK_AND_ASSIGN(const auto direct, Scale(predicted_, {64}, profile_));
  profile_.network->is_staged = true;
  ASSERT_OK_AND_ASSIGN(const auto staged, Scale(predicted_, {64}, profile_));
  // All bytes go over the link in both directions.
  int64_t bytes = 0;
  for (const Node& node : predicted_.chosen.graph.nodes()) {
    if (IsCollective(node.op)) {
      bytes += WireBytes(predicted_.chosen.graph, node);
    }
  }
  EXPECT_GE(staged[0].communication_ns - direct[0].communication_ns,
            CopyNs(profile_.to_host, bytes) +
                CopyNs(profile_.to_device, bytes) -
                profile_.to_host.latency_ns - profile_.to_device.latency_ns);
}

TEST_F(ScalingTest, ErrorsNameWhatIsMissing) {
  profile_.network->all_reduce = AllReduceAlgorithm::kHierarchical;
  profile_.network->ranks_per_host = 4;
  EXPECT_THAT(Scale(predicted_, {4, 6}, profile_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("allreduce: hierarchical")));
  profile_.network.reset();
  EXPECT_THAT(Scale(predicted_, {4}, profile_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("workers: the profile has no network")));
}

TEST(TuneBucketsTest, TakesTheFastestOfTheSizes) {
  const std::vector<int64_t> sizes = {1000, 100'000, 10'000'000, 20'000'000};
  ASSERT_OK_AND_ASSIGN(
      const TunedBuckets tuned,
      TuneBuckets([](int64_t bytes) { return ReducedStep(bytes); }, sizes,
                  OnRanks(16)));
  // The last two have one bucket.
  ASSERT_EQ(tuned.tried.size(), 3U);
  int64_t best_ns = tuned.tried[0].step_ns;
  for (const BucketAttempt& attempt : tuned.tried) {
    ASSERT_TRUE(attempt.fits);
    ASSERT_OK_AND_ASSIGN(const TuneResult alone,
                         Tune(ReducedStep(attempt.bucket_bytes), OnRanks(16)));
    EXPECT_EQ(attempt.step_ns, alone.step.chosen.step.step_ns);
    best_ns = std::min(best_ns, attempt.step_ns);
  }
  EXPECT_EQ(tuned.tuned.step.chosen.step.step_ns, best_ns);
  EXPECT_EQ(tuned.tuned.fingerprint, GraphFingerprint(tuned.program.graph));
}

TEST(TuneBucketsTest, OnlyIfNoSizeFitsIsItAnError) {
  StepOptions options = OnRanks(2);
  options.device_memory = 1000;
  EXPECT_THAT(TuneBuckets([](int64_t bytes) { return ReducedStep(bytes); },
                          {1000, 100'000}, options),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("nothing that was tried fits")));
}

}  // namespace
}  // namespace spillway
