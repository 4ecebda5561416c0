// DeviceProfile: what a simulation has to know of a machine.
#ifndef SPILLWAY_SIMULATOR_DEVICE_PROFILE_H_
#define SPILLWAY_SIMULATOR_DEVICE_PROFILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "graph/dtype.h"
#include "simulator/link_direction.h"

namespace spillway {

// What a profile may state. An integer stays one that a double holds exactly.
inline constexpr double kLeastProfileRate = 1;
inline constexpr double kMostProfileRate = 1e18;
inline constexpr double kLeastProfileEfficiency = 0.01;
inline constexpr double kMostConvolutionEfficiency = 4;
inline constexpr double kMostProfileInteger = 9e15;
inline constexpr double kMostNsPerCopiedByte = 1e3;

// What was measured of one of a kernel's algorithms.
struct MeasuredAlgorithm {
  int64_t workspace_bytes = 0;
  int64_t ns = 0;

  friend bool operator==(const MeasuredAlgorithm&,
                         const MeasuredAlgorithm&) = default;
};

// The parts of the peak that convolutions reach, by their arithmetic (OpCost).
// The flops are those of the direct algorithm, so a part may be more than 1:
// with 3 x 3 windows and tiles of 4 x 4, Winograd's algorithm multiplies a
// quarter as often.
struct ConvolutionEfficiency {
  double pointwise = 1;
  double winograd = 1;
  double other = 1;

  friend bool operator==(const ConvolutionEfficiency&,
                         const ConvolutionEfficiency&) = default;
};

struct DeviceProfile {
  std::string name = {};    // "P100 16 GB, PCIe 3"
  std::string source = {};  // where the numbers are from
  // Whose kernels were measured, with their versions; empty: no matter.
  std::string libraries = {};
  // The part of the CPUs' time that other programs took while this was
  // measured, where it was so much that the numbers may be wrong.
  double foreign_work = 0;
  int64_t memory_bytes = 0;
  int64_t host_memory_bytes = 0;  // RAM of its host; 0: not known
  LinkDirection to_host = {};
  LinkDirection to_device = {};
  // Peak rates, and the part of them that kernels reach: the roofline.
  double memory_bytes_per_second = 0;
  double memory_efficiency = 1;
  std::map<DType, double> flops_per_second = {};  // by dtype of the inputs
  double compute_efficiency = 1;
  // By dtype, of which flops_per_second has the rate. A dtype that is not here:
  // convolutions reach compute_efficiency, as all other nodes do.
  std::map<DType, ConvolutionEfficiency> convolution_efficiency = {};
  int64_t kernel_ns = 0;  // the least that a kernel takes
  int64_t issue_ns = 0;   // of the host, for each step
  int64_t call_ns = 0;    // of the host, once: to begin, and to return fetches
  // From the end of a step until a lane that slept for it goes on.
  int64_t wake_ns = 0;
  // Copies that take cores and memory from kernels: how much longer a kernel
  // takes for each byte that is copied beside it.
  double kernel_ns_per_copied_byte = 0;
  bool in_turn =
      false;  // one step at a time: lanes never run beside each other
  // Measured nanoseconds of a kernel by NodeSignature (node_signature.h).
  std::map<std::string, int64_t, std::less<>> kernels = {};
  // By signature and name, of kernels that have several algorithms; `kernels`
  // has the time of the first.
  std::map<std::string, std::map<std::string, MeasuredAlgorithm, std::less<>>,
           std::less<>>
      algorithms = {};

  friend bool operator==(const DeviceProfile&, const DeviceProfile&) = default;
};

// The same machine for a step that was captured once and is launched as a whole
// (--cuda_graph): the host issues one launch a step, which is a part of its
// call, and nothing for each of the plan's steps.
DeviceProfile ForCapturedSteps(DeviceProfile profile);

// JSON as docs/device_profile.md describes it. `origin` names the text in
// errors. Errors: INVALID_ARGUMENT naming the field, and what it must be.
absl::StatusOr<DeviceProfile> ParseDeviceProfile(std::string_view text,
                                                 std::string_view origin);
absl::StatusOr<DeviceProfile> ReadDeviceProfile(const std::string& path);

// Text that parses back to an equal profile; fields in a fixed order, those
// that are optional only where they say something.
std::string FormatDeviceProfile(const DeviceProfile& profile);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_DEVICE_PROFILE_H_
