#include "simulator/network/network_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>

#include "base/counted.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

double MessageNs(const NetworkLink& link, double bytes) {
  return static_cast<double>(link.latency_ns) +
         bytes * 1e9 / link.bytes_per_second;
}

int64_t RanksOfHost(const NetworkModel& network) {
  return std::min(network.ranks, network.ranks_per_host);
}

int64_t Hosts(const NetworkModel& network) {
  return (network.ranks + network.ranks_per_host - 1) / network.ranks_per_host;
}

// ceil(log2(n))
int64_t TreeDepth(int64_t n) {
  return static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(n - 1)));
}

// A round of a ring of all ranks: its slowest message. Ranks of a host follow
// each other, so at most one message leaves a host.
double RingRoundNs(const NetworkModel& network, double bytes) {
  double ns = 0;
  if (RanksOfHost(network) > 1) ns = MessageNs(network.within_host, bytes);
  if (Hosts(network) > 1) {
    ns = std::max(ns, MessageNs(network.between_hosts, bytes));
  }
  return ns;
}

double RingNs(const NetworkModel& network, double bytes) {
  const auto ranks = static_cast<double>(network.ranks);
  return 2 * (ranks - 1) * RingRoundNs(network, bytes / ranks);
}

// Of the ranks of a host, as many rings between hosts as there are ranks share
// the host's link.
double HierarchicalNs(const NetworkModel& network, double bytes) {
  const auto local = static_cast<double>(RanksOfHost(network));
  const auto hosts = static_cast<double>(Hosts(network));
  double ns = 0;
  if (local > 1) {
    ns += 2 * (local - 1) * MessageNs(network.within_host, bytes / local);
  }
  if (hosts > 1) {
    ns += 2 * (hosts - 1) * MessageNs(network.between_hosts, bytes / hosts);
  }
  return ns;
}

absl::Status CheckLink(std::string_view name, const NetworkLink& link) {
  if (link.latency_ns < 0 || link.latency_ns > kMostLatencyNs) {
    return InvalidArgument(
        fmt::format("{}: a latency of {} ns must be from 0 to {}",
                    std::string(name), link.latency_ns, kMostLatencyNs));
  }
  if (!(link.bytes_per_second >= 1 && link.bytes_per_second <= 1e18)) {
    return InvalidArgument(
        fmt::format("{}: {} bytes per second must be from 1 to 1e18",
                    std::string(name), link.bytes_per_second));
  }
  return absl::OkStatus();
}

absl::Status CheckCount(std::string_view name, int64_t count) {
  if (count >= 1 && count <= kMostRanks) return absl::OkStatus();
  return InvalidArgument(fmt::format("{}: {} must be from 1 to {}",
                                     std::string(name), count, kMostRanks));
}

}  // namespace

std::string_view AllReduceName(AllReduceAlgorithm algorithm) {
  switch (algorithm) {
    case AllReduceAlgorithm::kRing:
      return "ring";
    case AllReduceAlgorithm::kTree:
      return "tree";
    case AllReduceAlgorithm::kHierarchical:
      return "hierarchical";
  }
  return "?";
}

std::optional<AllReduceAlgorithm> FindAllReduce(std::string_view name) {
  for (const AllReduceAlgorithm algorithm : kAllReduceAlgorithms) {
    if (AllReduceName(algorithm) == name) return algorithm;
  }
  return std::nullopt;
}

absl::Status CheckNetwork(const NetworkModel& network) {
  SPILLWAY_RETURN_IF_ERROR(CheckCount("workers", network.ranks));
  SPILLWAY_RETURN_IF_ERROR(
      CheckCount("ranks_per_host", network.ranks_per_host));
  SPILLWAY_RETURN_IF_ERROR(CheckLink("between_hosts", network.between_hosts));
  SPILLWAY_RETURN_IF_ERROR(CheckLink("within_host", network.within_host));
  if (!(network.contention >= 0 && network.contention <= kMostContention)) {
    return InvalidArgument(fmt::format("contention: {} must be from 0 to {}",
                                       network.contention, kMostContention));
  }
  if (!(network.jitter >= 0 && network.jitter <= kMostJitter)) {
    return InvalidArgument(fmt::format("jitter: {} must be from 0 to {}",
                                       network.jitter, kMostJitter));
  }
  if (network.all_reduce == AllReduceAlgorithm::kHierarchical &&
      !FillsHosts(network)) {
    return InvalidArgument(
        fmt::format("allreduce: hierarchical needs hosts with equal numbers of "
                    "ranks; {} with ranks_per_host {} leave one host with {}",
                    Counted(network.ranks, "rank"), network.ranks_per_host,
                    network.ranks % network.ranks_per_host));
  }
  return absl::OkStatus();
}

bool FillsHosts(const NetworkModel& network) {
  return Hosts(network) == 1 || network.ranks % network.ranks_per_host == 0;
}

double AllReduceNs(const NetworkModel& network, AllReduceAlgorithm algorithm,
                   double bytes) {
  switch (algorithm) {
    case AllReduceAlgorithm::kRing:
      return RingNs(network, bytes);
    case AllReduceAlgorithm::kTree:
      return 2 * BroadcastNs(network, bytes);
    case AllReduceAlgorithm::kHierarchical:
      return HierarchicalNs(network, bytes);
  }
  return 0;
}

double AllReduceNs(const NetworkModel& network, double bytes) {
  return AllReduceNs(
      network, network.all_reduce.value_or(FastestAllReduce(network, bytes)),
      bytes);
}

AllReduceAlgorithm FastestAllReduce(const NetworkModel& network, double bytes) {
  AllReduceAlgorithm fastest = AllReduceAlgorithm::kRing;
  double least = AllReduceNs(network, fastest, bytes);
  for (const AllReduceAlgorithm algorithm : kAllReduceAlgorithms) {
    if (algorithm == AllReduceAlgorithm::kHierarchical &&
        !FillsHosts(network)) {
      continue;
    }
    const double ns = AllReduceNs(network, algorithm, bytes);
    if (ns >= least) continue;
    least = ns;
    fastest = algorithm;
  }
  return fastest;
}

double AllGatherNs(const NetworkModel& network, double bytes) {
  return static_cast<double>(network.ranks - 1) * RingRoundNs(network, bytes);
}

double ExpectedLateness(int64_t ranks) {
  if (ranks <= 1) return 0;
  // By the trapezoidal rule, the integral over x > 0 of
  // 1 - F(x)^W - F(-x)^W, where F^W is the distribution of the maximum.
  constexpr double kMost = 12;
  constexpr int kParts = 6000;
  const auto below = [](double x) {
    return 0.5 * std::erfc(-x / std::numbers::sqrt2);
  };
  const auto count = static_cast<double>(ranks);
  double sum = 0;
  for (int i = 0; i < kParts; ++i) {
    const double x = kMost * i / kParts;
    const double value =
        1 - std::pow(below(x), count) - std::pow(below(-x), count);
    sum += i == 0 ? value / 2 : value;
  }
  return sum * kMost / kParts;
}

double BroadcastNs(const NetworkModel& network, double bytes) {
  const auto within = static_cast<double>(TreeDepth(RanksOfHost(network)));
  const auto between = static_cast<double>(TreeDepth(Hosts(network)));
  double ns = 0;
  if (within > 0) ns += within * MessageNs(network.within_host, bytes);
  if (between > 0) ns += between * MessageNs(network.between_hosts, bytes);
  return ns;
}

}  // namespace spillway
