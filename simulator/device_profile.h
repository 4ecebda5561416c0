// DeviceProfile: what a simulation needs to know about a machine.
#ifndef SPILLWAY_SIMULATOR_DEVICE_PROFILE_H_
#define SPILLWAY_SIMULATOR_DEVICE_PROFILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "graph/dtype.h"
#include "simulator/link_direction.h"
#include "simulator/network/network_model.h"

namespace spillway {

// Limits of a profile's fields. A double represents each integer exactly.
inline constexpr double kLeastProfileRate = 1;
inline constexpr double kMostProfileRate = 1e18;
inline constexpr double kLeastProfileEfficiency = 0.01;
inline constexpr double kMostConvolutionEfficiency = 4;
inline constexpr double kMostProfileInteger = 9e15;
inline constexpr double kMostNsPerCopiedByte = 1e3;

// Measurement of one of a kernel's algorithms.
struct MeasuredAlgorithm {
  int64_t workspace_bytes = 0;
  int64_t ns = 0;

  friend bool operator==(const MeasuredAlgorithm&,
                         const MeasuredAlgorithm&) = default;
};

// The fraction of the peak that convolutions reach, by their arithmetic
// (OpCost). The flops are those of the direct algorithm, so a fraction may
// exceed 1: with 3 x 3 windows and tiles of 4 x 4, Winograd's algorithm needs a
// quarter of the multiplications.
struct ConvolutionEfficiency {
  double pointwise = 1;
  double winograd = 1;
  double other = 1;

  friend bool operator==(const ConvolutionEfficiency&,
                         const ConvolutionEfficiency&) = default;
};

struct DeviceProfile {
  std::string name = {};    // "P100 16 GB, PCIe 3"
  std::string source = {};  // where the numbers come from
  // Libraries whose kernels were measured, with versions; empty: any.
  std::string libraries = {};
  // The fraction of CPU time that other programs took during the measurement; 0
  // if it was too small to make the numbers wrong.
  double foreign_work = 0;
  int64_t memory_bytes = 0;
  int64_t host_memory_bytes = 0;  // RAM of its host; 0: not known
  // The roofline of kernels on the host; 0: the device is the host's processor,
  // so nodes take as long there as on the device.
  double host_memory_bytes_per_second = 0;
  double host_flops_per_second = 0;
  LinkDirection to_host = {};
  LinkDirection to_device = {};
  // The roofline: peak rates, and the fraction of them that kernels reach.
  double memory_bytes_per_second = 0;
  double memory_efficiency = 1;
  std::map<DType, double> flops_per_second = {};  // by dtype of the inputs
  double compute_efficiency = 1;
  // By dtype; each needs a rate in flops_per_second. Convolutions of a dtype
  // that is not listed reach compute_efficiency, as all other nodes do.
  std::map<DType, ConvolutionEfficiency> convolution_efficiency = {};
  int64_t kernel_ns = 0;  // the shortest time of a kernel
  int64_t issue_ns = 0;   // host time to issue one step of the plan
  // Host time once per run of the plan: to begin, and to return fetches.
  int64_t call_ns = 0;
  // From the end of a step until a lane that slept while it waited for the step
  // continues.
  int64_t wake_ns = 0;
  // How much longer a kernel takes for each byte that is copied while it runs,
  // since the copy takes cores and memory bandwidth from it.
  double kernel_ns_per_copied_byte = 0;
  bool in_turn = false;  // one step at a time: lanes never overlap
  // Among the ranks of a run. nullopt: not known; then collectives take the
  // time of their work on one rank.
  std::optional<NetworkModel> network = {};
  // Measured nanoseconds of a kernel by NodeSignature (node_signature.h).
  std::map<std::string, int64_t, std::less<>> kernels = {};
  // By signature and algorithm, for kernels that have several algorithms;
  // `kernels` has the time of the first.
  std::map<std::string, std::map<std::string, MeasuredAlgorithm, std::less<>>,
           std::less<>>
      algorithms = {};

  friend bool operator==(const DeviceProfile&, const DeviceProfile&) = default;
};

// The same machine for a step that is captured once and launched as a whole
// (--cuda_graph): the host issues one launch per step, counted in call_ns, and
// nothing for the individual steps of the plan.
DeviceProfile ForCapturedSteps(DeviceProfile profile);

// Parses JSON as docs/device_profile.md describes it. Errors name the text as
// `origin`: INVALID_ARGUMENT with the field and what it must be.
absl::StatusOr<DeviceProfile> ParseDeviceProfile(std::string_view text,
                                                 std::string_view origin);
absl::StatusOr<DeviceProfile> ReadDeviceProfile(const std::string& path);

// Text that parses back to an equal profile. The order of the fields is fixed;
// an optional field with its default value is left out.
std::string FormatDeviceProfile(const DeviceProfile& profile);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_DEVICE_PROFILE_H_
