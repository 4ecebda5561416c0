// The ranks of a run whose time is predicted, and the network among them.
// `spillway`'s flags of the same names have the same meanings.
#ifndef SPILLWAY_TUNER_NETWORK_OPTIONS_H_
#define SPILLWAY_TUNER_NETWORK_OPTIONS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "simulator/device_profile.h"
#include "simulator/network/network_model.h"

namespace spillway {

enum class AllReduceChoice : uint8_t {
  kNotGiven,
  kAuto,  // for each all-reduce, the fastest
  kRing,
  kTree,
  kHierarchical,
};

// Limits of the options, as of the flags.
inline constexpr double kLeastGbps = 1e-6;
inline constexpr double kMostGbps = 1e6;
inline constexpr double kMostLatencyUs =
    static_cast<double>(kMostLatencyNs) * 1e-3;

// What is not given is as in the profile's network.
struct NetworkOptions {
  int64_t workers = 1;  // ranks
  // Between hosts: 1e9 bytes per second in each direction, and microseconds
  // (without a profile's network: 5).
  std::optional<double> network_gbps = {};
  std::optional<double> network_latency_us = {};
  // Within a host; without a profile's network: as between hosts.
  std::optional<double> intra_host_gbps = {};
  std::optional<double> intra_host_latency_us = {};
  std::optional<int64_t> ranks_per_host = {};
  AllReduceChoice allreduce = AllReduceChoice::kNotGiven;
  // NetworkModel::is_staged.
  std::optional<bool> staged_allreduce = {};
  // NetworkModel::jitter.
  std::optional<double> rank_jitter = {};
};

// The network for a run of options.workers ranks on machines of `profile`, or
// of `real_ranks` if this is such a run. nullopt: neither options nor profile
// have one. Errors: INVALID_ARGUMENT naming the option that is out of range, or
// that is missing for several workers.
absl::StatusOr<std::optional<NetworkModel>> NetworkOf(
    const NetworkOptions& options, const DeviceProfile& profile,
    int64_t real_ranks = 1);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_NETWORK_OPTIONS_H_
