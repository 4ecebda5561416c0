#include "simulator/network/network_model.h"

#include <cmath>
#include <random>

#include "fmt/format.h"
#include "tests/simulator/network/round_by_round.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

// Latencies and rates over three powers of ten.
NetworkLink RandomLink(std::mt19937_64& random) {
  std::uniform_real_distribution<double> exponent(0, 3);
  return {.latency_ns = std::llround(100 * std::pow(10, exponent(random))),
          .bytes_per_second = 1e8 * std::pow(10, exponent(random))};
}

struct NetworkCase {
  NetworkModel network = {};
  double bytes = 0;

  std::string text() const {
    return fmt::format(
        "{} ranks, {} a host, within {} ns {:.17g} B/s, between {} ns {:.17g} "
        "B/s, {:.17g} bytes",
        network.ranks, network.ranks_per_host, network.within_host.latency_ns,
        network.within_host.bytes_per_second, network.between_hosts.latency_ns,
        network.between_hosts.bytes_per_second, bytes);
  }
};

NetworkCase RandomNetwork(uint64_t seed) {
  std::mt19937_64 random(seed);
  NetworkCase made;
  made.network.ranks = static_cast<int64_t>(1 + random() % 20);
  made.network.ranks_per_host = static_cast<int64_t>(1 + random() % 6);
  made.network.within_host = RandomLink(random);
  made.network.between_hosts = RandomLink(random);
  made.bytes =
      std::floor(std::pow(10, static_cast<double>(random() % 8000) / 1000));
  return made;
}

// To one part in 1e9.
void ExpectEqualNs(double ns, double expected) {
  EXPECT_NEAR(ns, expected, 1e-9 * expected);
}

TEST(NetworkModelTest, ClosedFormsAreTheSumOfTheirRounds) {
  constexpr uint64_t kSeeds = 400;
  int hierarchical = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto [network, bytes] = RandomNetwork(seed);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, RandomNetwork(seed).text()));
    for (const AllReduceAlgorithm algorithm : kAllReduceAlgorithms) {
      SCOPED_TRACE(std::string(AllReduceName(algorithm)));
      if (algorithm == AllReduceAlgorithm::kHierarchical) {
        if (!FillsHosts(network)) continue;
        ++hierarchical;
      }
      const testing::RoundByRound played =
          testing::PlayAllReduce(network, algorithm, bytes);
      ASSERT_TRUE(played.EachHasTheSum());
      ExpectEqualNs(AllReduceNs(network, algorithm, bytes), played.ns());
    }
    ExpectEqualNs(AllGatherNs(network, bytes),
                  testing::PlayAllGather(network, bytes).ns());
    ExpectEqualNs(BroadcastNs(network, bytes),
                  testing::PlayBroadcast(network, bytes).ns());
  }
  EXPECT_GT(hierarchical, 50);
}

TEST(NetworkModelTest, TheTwinGathersAndBroadcasts) {
  const NetworkModel network = {.between_hosts = {.bytes_per_second = 1e9},
                                .within_host = {.bytes_per_second = 1e9},
                                .ranks_per_host = 3,
                                .ranks = 7};
  const testing::RoundByRound gathered = testing::PlayAllGather(network, 8);
  for (const auto& rank : gathered.held()) {
    for (size_t piece = 0; piece < rank.size(); ++piece) {
      EXPECT_EQ(rank[piece][piece], 1);
    }
  }
  const testing::RoundByRound sent = testing::PlayBroadcast(network, 8);
  for (const auto& rank : sent.held()) EXPECT_EQ(rank[0][0], 1);
}

// By hand: 4 hosts of one rank, 1 us and 1 byte a nanosecond, 8000 bytes.
TEST(NetworkModelTest, TimesByHand) {
  const NetworkModel network = {
      .between_hosts = {.latency_ns = 1000, .bytes_per_second = 1e9},
      .within_host = {.bytes_per_second = 1},
      .ranks = 4};
  EXPECT_EQ(AllReduceNs(network, AllReduceAlgorithm::kRing, 8000),
            6 * (1000 + 2000));
  EXPECT_EQ(AllReduceNs(network, AllReduceAlgorithm::kTree, 8000),
            4 * (1000 + 8000));
  EXPECT_EQ(AllReduceNs(network, AllReduceAlgorithm::kHierarchical, 8000),
            6 * (1000 + 2000));
  EXPECT_EQ(AllGatherNs(network, 8000), 3 * (1000 + 8000));
  EXPECT_EQ(BroadcastNs(network, 8000), 2 * (1000 + 8000));
}

TEST(NetworkModelTest, OneRankNeedsNoTime) {
  const NetworkModel network = {
      .between_hosts = {.latency_ns = 1000, .bytes_per_second = 1e9},
      .within_host = {.latency_ns = 1000, .bytes_per_second = 1e9},
      .ranks_per_host = 4};
  for (const AllReduceAlgorithm algorithm : kAllReduceAlgorithms) {
    EXPECT_EQ(AllReduceNs(network, algorithm, 1e6), 0);
  }
  EXPECT_EQ(AllGatherNs(network, 1e6), 0);
  EXPECT_EQ(BroadcastNs(network, 1e6), 0);
}

TEST(NetworkModelTest, TheFastestIsTakenUnlessOneIsNamed) {
  NetworkModel network = {
      .between_hosts = {.latency_ns = 10'000, .bytes_per_second = 1e9},
      .within_host = {.latency_ns = 1000, .bytes_per_second = 1e11},
      .ranks_per_host = 8,
      .ranks = 64};
  EXPECT_EQ(FastestAllReduce(network, 100), AllReduceAlgorithm::kTree);
  EXPECT_EQ(FastestAllReduce(network, 1e8), AllReduceAlgorithm::kHierarchical);
  network.ranks = 60;  // the last host has 4
  EXPECT_EQ(FastestAllReduce(network, 1e8), AllReduceAlgorithm::kRing);
  network.ranks = 64;
  for (const double bytes : {1.0, 1e4, 1e6, 1e9}) {
    double least = AllReduceNs(network, bytes);
    for (const AllReduceAlgorithm algorithm : kAllReduceAlgorithms) {
      least = std::min(least, AllReduceNs(network, algorithm, bytes));
    }
    EXPECT_EQ(AllReduceNs(network, bytes), least);
  }
  network.all_reduce = AllReduceAlgorithm::kTree;
  EXPECT_EQ(AllReduceNs(network, 1e8),
            AllReduceNs(network, AllReduceAlgorithm::kTree, 1e8));
}

TEST(NetworkModelTest, ErrorsNameTheField) {
  const NetworkModel good = {
      .between_hosts = {.latency_ns = 1000, .bytes_per_second = 1e9},
      .within_host = {.bytes_per_second = 1e9},
      .ranks_per_host = 4,
      .ranks = 6};
  EXPECT_THAT(CheckNetwork(good), IsOk());
  const auto expect = [&](auto change, const std::string& text) {
    NetworkModel network = good;
    change(network);
    EXPECT_THAT(CheckNetwork(network),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  };
  expect([](NetworkModel& n) { n.ranks = 0; }, "workers: 0 must be from 1");
  expect([](NetworkModel& n) { n.ranks_per_host = 0; }, "ranks_per_host: 0");
  expect([](NetworkModel& n) { n.between_hosts.latency_ns = -1; },
         "between_hosts: a latency of -1 ns");
  expect([](NetworkModel& n) { n.within_host.bytes_per_second = NAN; },
         "within_host: nan bytes per second");
  expect([](NetworkModel& n) { n.contention = -1; }, "contention: -1");
  expect([](NetworkModel& n) { n.jitter = NAN; }, "jitter: nan must be from 0");
  expect(
      [](NetworkModel& n) { n.all_reduce = AllReduceAlgorithm::kHierarchical; },
      "allreduce: hierarchical needs hosts with equal numbers of ranks; 6 "
      "ranks with ranks_per_host 4 leave one host with 2");
}

// Means of order statistics, by closed forms where there are, else from tables
// (Harter, "Expected Values of Normal Order Statistics", 1961; Tippett, 1925).
TEST(NetworkModelTest, TheLastOfManyIsAsLateAsTablesSay) {
  EXPECT_EQ(ExpectedLateness(1), 0);
  EXPECT_NEAR(ExpectedLateness(2), 1 / std::sqrt(M_PI), 1e-6);
  EXPECT_NEAR(ExpectedLateness(3), 1.5 / std::sqrt(M_PI), 1e-6);
  EXPECT_NEAR(ExpectedLateness(4), 1.02938, 1e-5);
  EXPECT_NEAR(ExpectedLateness(10), 1.53875, 1e-5);
  EXPECT_NEAR(ExpectedLateness(100), 2.50759, 1e-5);
  EXPECT_NEAR(ExpectedLateness(1000), 3.24144, 1e-5);
}

TEST(NetworkModelTest, NamesAreFoundAgain) {
  for (const AllReduceAlgorithm algorithm : kAllReduceAlgorithms) {
    EXPECT_EQ(FindAllReduce(AllReduceName(algorithm)), algorithm);
  }
  EXPECT_EQ(FindAllReduce("star"), std::nullopt);
}

}  // namespace
}  // namespace spillway
