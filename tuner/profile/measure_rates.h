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
  int64_t steps = 9;  // after one of warm-up
  MathOptions math = {};
  StopRequest stop = {};  // asked before each step
};

// Runs a step of such kernels several times; takes the median of each. dtypes
// that the device has no MatMul for are left out. `device` is taken over.
// Errors: what a session says; CANCELLED if stopped.
absl::StatusOr<MeasuredRates> MeasureRates(std::unique_ptr<Device> device,
                                           const RateMeasurement& spec);

// Nanoseconds that a step takes beside its kernels and copies: a step of one
// such Relu, less that kernel. Errors: as above.
absl::StatusOr<int64_t> MeasureCallNs(std::unique_ptr<Device> device,
                                      const RateMeasurement& spec);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_MEASURE_RATES_H_
