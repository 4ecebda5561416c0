// Networks trained on a fake GPU (fake_gpu.h).
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lms/lms.h"
#include "tests/end_to_end/fake_gpu.h"
#include "tests/end_to_end/train_model.h"
#include "tests/support/random_network.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::MakeRandomNetwork;
using testing::RandomNetwork;
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

void ExpectNear(const std::vector<float>& losses,
                const std::vector<float>& expected) {
  ASSERT_EQ(losses.size(), expected.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], 0.02 * std::abs(expected[i]) + 1e-3);
  }
}

TEST_F(GpuTrainingTest, LossesAreThoseOfTheCpu) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
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

TEST_F(GpuTrainingTest, SwappingChangesNoBit) {
  int64_t swap_outs = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
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
  EXPECT_GT(swap_outs, 100);
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
