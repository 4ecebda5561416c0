#include "tuner/network_options.h"

#include <cmath>
#include <string>

#include "tests/support/status_matchers.h"
#include "tests/tuner/tuner_case.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

DeviceProfile WithNetwork() {
  DeviceProfile profile = testing::LinkOf(1);
  profile.network = {
      .between_hosts = {.latency_ns = 700, .bytes_per_second = 7e9},
      .within_host = {.latency_ns = 300, .bytes_per_second = 3e10},
      .ranks_per_host = 4,
      .all_reduce = AllReduceAlgorithm::kTree,
      .contention = 0.5};
  return profile;
}

TEST(NetworkOptionsTest, WithoutAnythingThereIsNoNetwork) {
  ASSERT_OK_AND_ASSIGN(const auto network, NetworkOf({}, testing::LinkOf(1)));
  EXPECT_EQ(network, std::nullopt);
}

TEST(NetworkOptionsTest, OptionsAloneMakeANetwork) {
  ASSERT_OK_AND_ASSIGN(
      const auto network,
      NetworkOf({.workers = 8, .network_gbps = 12.5}, testing::LinkOf(1)));
  const NetworkLink link = {.latency_ns = 5000, .bytes_per_second = 12.5e9};
  EXPECT_EQ(
      network,
      (NetworkModel{.between_hosts = link, .within_host = link, .ranks = 8}));
}

TEST(NetworkOptionsTest, GivenOptionsReplaceThoseOfTheProfile) {
  const DeviceProfile profile = WithNetwork();
  ASSERT_OK_AND_ASSIGN(const auto same, NetworkOf({.workers = 2}, profile));
  NetworkModel expected = *profile.network;
  expected.ranks = 2;
  EXPECT_EQ(same, expected);
  ASSERT_OK_AND_ASSIGN(const auto changed,
                       NetworkOf({.workers = 32,
                                  .network_latency_us = 1.5,
                                  .intra_host_gbps = 100,
                                  .ranks_per_host = 8,
                                  .allreduce = AllReduceChoice::kAuto,
                                  .staged_allreduce = true,
                                  .rank_jitter = 0.02},
                                 profile));
  expected.ranks = 32;
  expected.between_hosts.latency_ns = 1500;
  expected.within_host.bytes_per_second = 1e11;
  expected.ranks_per_host = 8;
  expected.all_reduce.reset();
  expected.is_staged = true;
  expected.jitter = 0.02;
  EXPECT_EQ(changed, expected);
}

TEST(NetworkOptionsTest, RealRanksCount) {
  ASSERT_OK_AND_ASSIGN(const auto network, NetworkOf({}, WithNetwork(), 3));
  EXPECT_EQ(network->ranks, 3);
}

TEST(NetworkOptionsTest, ErrorsNameTheOption) {
  const auto expect = [](const NetworkOptions& options,
                         const std::string& text) {
    EXPECT_THAT(NetworkOf(options, testing::LinkOf(1)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  };
  expect({.workers = 4},
         "workers: 4 ranks need a network: network_gbps, or a profile that has "
         "one");
  expect({.workers = 0, .network_gbps = 1}, "workers: 0 must be from 1");
  expect({.workers = 2, .network_gbps = 0}, "network_gbps: 0 must be from");
  expect({.workers = 2, .network_gbps = NAN}, "network_gbps: nan must be");
  expect({.workers = 2, .network_gbps = 1, .network_latency_us = -1},
         "network_latency_us: -1 must be from 0");
  expect({.workers = 2, .network_gbps = 1, .intra_host_gbps = 0},
         "intra_host_gbps: 0 must be from");
  expect({.workers = 2, .network_gbps = 1, .ranks_per_host = 0},
         "ranks_per_host: 0 must be from 1");
  expect({.workers = 2, .network_gbps = 1, .rank_jitter = 2},
         "rank_jitter: 2 must be from 0 to 1");
  expect({.workers = 6,
          .network_gbps = 1,
          .ranks_per_host = 4,
          .allreduce = AllReduceChoice::kHierarchical},
         "allreduce: hierarchical needs hosts with equal numbers of ranks");
}

}  // namespace
}  // namespace spillway
