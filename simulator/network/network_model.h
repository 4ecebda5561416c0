// NetworkModel: the time of collective operations among the ranks of a run, as
// closed forms of latency and bandwidth.
//
//   host 0   r0 r1 r2 r3  ---- between hosts ----  r4 r5 r6 r7   host 1
//            within a host                         within a host
//
// Rank r runs on host r / ranks_per_host. A message of n bytes takes the
// latency of its link and n / bandwidth. A host has one link to the others: the
// messages that leave it at the same time, or those that reach it, share the
// bandwidth equally; links within a host are not shared. A collective is a
// sequence of rounds, each as long as its slowest message. Additions take no
// time of their own: they are part of the bandwidth where it is measured.
//
// Units: bytes and nanoseconds; parts of a message may be fractions of a byte.
// Sources: Thakur, Rabenseifner, Gropp, "Optimization of Collective
// Communication Operations in MPICH" (2005), for ring and tree; Cho et al.,
// "PowerAI DDL" (2017), for the hierarchical all-reduce.
#ifndef SPILLWAY_SIMULATOR_NETWORK_NETWORK_MODEL_H_
#define SPILLWAY_SIMULATOR_NETWORK_NETWORK_MODEL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace spillway {

struct NetworkLink {
  int64_t latency_ns = 0;
  double bytes_per_second = 0;

  friend bool operator==(const NetworkLink&, const NetworkLink&) = default;
};

// Of n bytes on each of W ranks:
enum class AllReduceAlgorithm : uint8_t {
  // 2 (W - 1) rounds, in each of which rank r sends n / W bytes to rank r + 1.
  kRing,
  // All n bytes go up a binomial tree of the ranks of each host, then one of
  // the hosts, and the sums down again.
  kTree,
  // A ring within each host leaves each of its ranks with one part of the
  // host's sum; rings between hosts add equal parts; a ring within each host
  // gathers them. Only for hosts with equal numbers of ranks.
  kHierarchical,
};
inline constexpr std::array<AllReduceAlgorithm, 3> kAllReduceAlgorithms = {
    AllReduceAlgorithm::kRing, AllReduceAlgorithm::kTree,
    AllReduceAlgorithm::kHierarchical};
// "ring", "tree", "hierarchical"
std::string_view AllReduceName(AllReduceAlgorithm algorithm);
std::optional<AllReduceAlgorithm> FindAllReduce(std::string_view name);

inline constexpr int64_t kMostRanks = int64_t{1} << 20;
inline constexpr int64_t kMostLatencyNs = int64_t{1'000'000'000};
inline constexpr double kMostContention = 10;
inline constexpr double kMostJitter = 1;

struct NetworkModel {
  NetworkLink between_hosts = {};
  NetworkLink within_host = {};
  int64_t ranks_per_host = 1;
  // nullopt: for each all-reduce, the fastest (FastestAllReduce).
  std::optional<AllReduceAlgorithm> all_reduce = {};
  // The host's processors communicate, so kernels and collectives slow each
  // other: while both run, each takes 1 + contention times as long. 0: the
  // network works alone; 1: they take turns.
  double contention = 0;
  // All-reduces copy their bytes to the host and their sums back, on the link
  // that swaps use too.
  bool is_staged = false;
  // How much ranks differ: the standard deviation of a step's kernel time, in
  // parts of its mean. Steps of all ranks are taken as independent and normal,
  // so the last rank of W is ExpectedLateness(W) deviations later than the
  // mean, and the last collective of a step waits for it.
  double jitter = 0;
  // Of the run whose time is predicted. Not in profile files, which describe
  // machines.
  int64_t ranks = 1;

  friend bool operator==(const NetworkModel&, const NetworkModel&) = default;
};

// INVALID_ARGUMENT naming the field that is out of range, also for a
// hierarchical all-reduce of ranks that do not fill their hosts.
absl::Status CheckNetwork(const NetworkModel& network);

// Hosts have equal numbers of ranks.
bool FillsHosts(const NetworkModel& network);

// The network must have passed CheckNetwork. With one rank, each takes 0 ns.

// n bytes on each rank -> their sum, n bytes on each rank.
double AllReduceNs(const NetworkModel& network, AllReduceAlgorithm algorithm,
                   double bytes);
// By network.all_reduce.
double AllReduceNs(const NetworkModel& network, double bytes);
// That with the least time; of equal ones the first of kAllReduceAlgorithms.
AllReduceAlgorithm FastestAllReduce(const NetworkModel& network, double bytes);

// n bytes of each rank -> W n bytes on each rank, by a ring of W - 1 rounds.
double AllGatherNs(const NetworkModel& network, double bytes);

// The expected maximum of so many independent numbers of the standard normal
// distribution: 0 for one, 0.564 for two, 3.24 for a thousand.
double ExpectedLateness(int64_t ranks);

// n bytes of one rank -> all ranks, down the tree of kTree.
double BroadcastNs(const NetworkModel& network, double bytes);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_NETWORK_NETWORK_MODEL_H_
