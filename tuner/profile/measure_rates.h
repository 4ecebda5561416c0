// Peak rates of a device's kernels, for the roofline of a device profile.
#ifndef SPILLWAY_TUNER_PROFILE_MEASURE_RATES_H_
#define SPILLWAY_TUNER_PROFILE_MEASURE_RATES_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "base/stop_request.h"
#include "executor/device/device.h"
#include "executor/kernel.h"
#include "graph/dtype.h"

namespace spillway {

struct MeasuredRates {
  std::map<DType, double> flops_per_second = {};  // of a large MatMul
  double memory_bytes_per_second = 0;  // of a large Add: two reads, a write
  int64_t kernel_ns = 0;               // of a Relu of one element
};

struct RateMeasurement {
  int threads = 0;    // 0: all cores
  int64_t steps = 9;  // after one warm-up step
  MathOptions math = {};
  StopRequest stop = {};  // called before each step
};

// Runs a step with these kernels several times and takes the median of each.
// dtypes for which the device has no MatMul are left out. Takes ownership of
// `device`. Errors: those of a session; CANCELLED if stopped.
absl::StatusOr<MeasuredRates> MeasureRates(std::unique_ptr<Device> device,
                                           const RateMeasurement& spec);

// Nanoseconds that a step takes in addition to its kernels and copies: a step
// with only a Relu of one element, minus that kernel. Errors: as above.
absl::StatusOr<int64_t> MeasureCallNs(std::unique_ptr<Device> device,
                                      const RateMeasurement& spec);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_MEASURE_RATES_H_
