// DeviceProfile: what a simulation has to know of a machine.
#ifndef SPILLWAY_SIMULATOR_DEVICE_PROFILE_H_
#define SPILLWAY_SIMULATOR_DEVICE_PROFILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "graph/dtype.h"

namespace spillway {

// One direction of the link between host and device: a copy of n bytes takes
// latency_ns + n / rate.
struct LinkDirection {
  int64_t latency_ns = 0;
  double bytes_per_second = 0;
  // While the other direction copies too.
  double shared_bytes_per_second = 0;
};

struct DeviceProfile {
  std::string name = {};    // "P100 16 GB, PCIe 3"
  std::string source = {};  // where the numbers are from
  int64_t memory_bytes = 0;
  LinkDirection to_host = {};
  LinkDirection to_device = {};
  // Peak rates, and the part of them that kernels reach: the roofline.
  double memory_bytes_per_second = 0;
  double memory_efficiency = 1;
  std::map<DType, double> flops_per_second = {};  // by dtype of the inputs
  double compute_efficiency = 1;
  int64_t kernel_ns = 0;  // the least that a kernel takes
  int64_t issue_ns = 0;   // of the host, for each step
};

// JSON as docs/device_profile.md describes it. `origin` names the text in
// errors. Errors: INVALID_ARGUMENT naming the field, and what it must be.
absl::StatusOr<DeviceProfile> ParseDeviceProfile(std::string_view text,
                                                 std::string_view origin);
absl::StatusOr<DeviceProfile> ReadDeviceProfile(const std::string& path);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_DEVICE_PROFILE_H_
