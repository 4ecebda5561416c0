#include "tuner/network_options.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

constexpr int64_t kAssumedLatencyNs = 5000;
constexpr double kBytesPerGigabyte = 1e9;
constexpr double kNsPerUs = 1e3;

absl::Status CheckGiven(std::string_view name,
                        const std::optional<double>& given, double least,
                        double most) {
  if (!given || (*given >= least && *given <= most)) return absl::OkStatus();
  return InvalidArgument(fmt::format("{}: {} must be from {} to {}",
                                     std::string(name), *given, least, most));
}

absl::Status CheckNetworkOptions(const NetworkOptions& options) {
  if (options.workers < 1) {
    return InvalidArgument(fmt::format("workers: {} must be from 1 to {}",
                                       options.workers, kMostRanks));
  }
  SPILLWAY_RETURN_IF_ERROR(
      CheckGiven("network_gbps", options.network_gbps, kLeastGbps, kMostGbps));
  SPILLWAY_RETURN_IF_ERROR(CheckGiven(
      "network_latency_us", options.network_latency_us, 0, kMostLatencyUs));
  SPILLWAY_RETURN_IF_ERROR(CheckGiven(
      "intra_host_gbps", options.intra_host_gbps, kLeastGbps, kMostGbps));
  SPILLWAY_RETURN_IF_ERROR(CheckGiven("intra_host_latency_us",
                                      options.intra_host_latency_us, 0,
                                      kMostLatencyUs));
  return CheckGiven("rank_jitter", options.rank_jitter, 0, kMostJitter);
}

void SetLink(const std::optional<double>& gbps,
             const std::optional<double>& latency_us, NetworkLink& link) {
  if (gbps) link.bytes_per_second = *gbps * kBytesPerGigabyte;
  if (latency_us) link.latency_ns = std::llround(*latency_us * kNsPerUs);
}

void SetAllReduce(AllReduceChoice choice, NetworkModel& network) {
  switch (choice) {
    case AllReduceChoice::kNotGiven:
      return;
    case AllReduceChoice::kAuto:
      network.all_reduce.reset();
      return;
    case AllReduceChoice::kRing:
      network.all_reduce = AllReduceAlgorithm::kRing;
      return;
    case AllReduceChoice::kTree:
      network.all_reduce = AllReduceAlgorithm::kTree;
      return;
    case AllReduceChoice::kHierarchical:
      network.all_reduce = AllReduceAlgorithm::kHierarchical;
      return;
  }
}

}  // namespace

absl::StatusOr<std::optional<NetworkModel>> NetworkOf(
    const NetworkOptions& options, const DeviceProfile& profile,
    int64_t real_ranks) {
  SPILLWAY_RETURN_IF_ERROR(CheckNetworkOptions(options));
  std::optional<NetworkModel> network = profile.network;
  if (!network && options.network_gbps) {
    network.emplace();
    network->between_hosts.latency_ns = kAssumedLatencyNs;
    SetLink(options.network_gbps, options.network_latency_us,
            network->between_hosts);
    network->within_host = network->between_hosts;
  }
  if (!network) {
    if (options.workers == 1) return network;
    return InvalidArgument(
        fmt::format("workers: {} ranks need a network: network_gbps, or a "
                    "profile that has one",
                    options.workers));
  }
  SetLink(options.network_gbps, options.network_latency_us,
          network->between_hosts);
  SetLink(options.intra_host_gbps, options.intra_host_latency_us,
          network->within_host);
  if (options.ranks_per_host) {
    network->ranks_per_host = *options.ranks_per_host;
  }
  if (options.staged_allreduce) network->is_staged = *options.staged_allreduce;
  if (options.rank_jitter) network->jitter = *options.rank_jitter;
  SetAllReduce(options.allreduce, *network);
  network->ranks = std::max(options.workers, real_ranks);
  SPILLWAY_RETURN_IF_ERROR(CheckNetwork(*network));
  return network;
}

}  // namespace spillway
