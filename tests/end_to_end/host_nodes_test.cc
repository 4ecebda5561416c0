// Nodes on the host: random networks with random nodes there, with and without
// swaps, on every device and under every check, bitwise identical to the
// network on the device alone.
//
// SPILLWAY_STRESS_CASES sets the number of cases.
#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/units.h"
#include "executor/plan/verify_plan.h"
#include "gmock/gmock.h"
#include "lms/lms.h"
#include "lms/placement/place_on_host.h"
#include "ops/all_ops.h"
#include "tests/end_to_end/fake_gpu.h"
#include "tests/end_to_end/train_model.h"
#include "tests/support/random_network.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using testing::ExpectSameTraining;
using testing::IsOk;
using testing::NumCases;
using testing::RandomNetwork;
using testing::StressSetting;
using testing::TrainedModel;
using testing::TrainGraph;
using testing::TrainGraphSpec;

// Each node with this probability; AddRequired takes out what cannot be there.
HostNodes SomeNodes(const Graph& graph, double probability,
                    std::mt19937_64& random) {
  HostNodes host;
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    host.nodes.push_back(std::bernoulli_distribution(probability)(random));
  }
  return host;
}

TEST(HostNodesTest, EveryPlacementKeepsEveryBit) {
  const int64_t cases = StressSetting("SPILLWAY_STRESS_CASES", NumCases(60));
  int64_t on_host = 0;
  int64_t host_variables = 0;
  for (int64_t seed = 1; seed <= cases; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    ASSERT_OK_AND_ASSIGN(
        const RandomNetwork network,
        testing::MakeRandomNetwork(static_cast<uint64_t>(seed)));
    TrainGraphSpec spec = {.num_classes = network.num_classes, .threads = 1};
    ASSERT_OK_AND_ASSIGN(const TrainedModel expected,
                         TrainGraph(network.graph, network.loss, spec));
    Graph placed = network.graph;
    const double probability = std::vector{0.05, 0.3, 0.9}[seed % 3];
    const HostNodes host = SomeNodes(placed, probability, random);
    ASSERT_THAT(PlaceOnHost(host, StandardOps(), placed), IsOk());
    for (const Node& node : placed.nodes()) {
      on_host += node.placement == Placement::kHost ? 1 : 0;
      host_variables +=
          node.op == kVariable && node.placement == Placement::kHost ? 1 : 0;
    }
    spec.device = seed % 2 == 0 ? "cpu" : "inline";
    spec.check_memory = seed % 4 < 2;
    {
      ASSERT_OK_AND_ASSIGN(const TrainedModel run,
                           TrainGraph(placed, network.loss, spec));
      ExpectSameTraining(run, expected);
    }
    // With swaps of everything.
    LmsOptions lms = {.mode = seed % 3 == 0 ? LmsMode::kV2 : LmsMode::kV1,
                      .v1 = {.lb = 1}};
    lms.v2 = {.swapout_threshold = 3,
              .swapin_ahead = 2,
              .swapin_groupby = 0,
              .sync_mode = 0};
    ASSERT_THAT(ApplyLms(lms, placed).status(), IsOk());
    ASSERT_OK_AND_ASSIGN(const TrainedModel swapped,
                         TrainGraph(placed, network.loss, spec));
    ExpectSameTraining(swapped, expected);
  }
  EXPECT_GT(on_host, cases);
  EXPECT_GT(host_variables, cases / 4);
}

using HostNodesOnGpuTest = testing::FakeGpuTest;

// The kernels of the host's nodes are the CPU's, so results are those of the
// CPU and not the same bits; a captured step and its repetitions are.
TEST_F(HostNodesOnGpuTest, CapturedStepsRunTheHostsNodesToo) {
  for (uint64_t seed = 1; seed <= static_cast<uint64_t>(NumCases(12)); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    ASSERT_OK_AND_ASSIGN(const RandomNetwork network,
                         testing::MakeRandomNetwork(seed, DType::kFloat32));
    Graph placed = network.graph;
    ASSERT_THAT(
        PlaceOnHost(SomeNodes(placed, 0.2, random), StandardOps(), placed),
        IsOk());
    const TrainGraphSpec spec = SpecOf(network, 4);
    std::optional<TrainedModel> first;
    for (const bool captured : {false, true}) {
      ASSERT_OK_AND_ASSIGN(
          const std::unique_ptr<Session> session,
          NewSession({.graph = placed, .fetches = {network.loss}}, captured));
      ASSERT_OK_AND_ASSIGN(const TrainedModel run,
                           TrainSession(*session, placed, network.loss, spec));
      if (!first) first = run;
      EXPECT_EQ(run.losses, first->losses);
      EXPECT_EQ(run.checksum, first->checksum);
    }
  }
}

}  // namespace
}  // namespace spillway
