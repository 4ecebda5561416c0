#include "simulator/default_profile.h"

#include "base/units.h"

namespace spillway {

DeviceProfile DefaultCpuProfile(int threads) {
  // One core: 2.5 GHz, 32 float32 multiply-adds a cycle at best; memcpy.
  constexpr double kFlops = 160e9;
  constexpr double kMemoryRate = 12e9;
  const LinkDirection link = {.latency_ns = 1000,
                              .bytes_per_second = 8e9,
                              .shared_bytes_per_second = 6e9};
  return {.name = "CPU (assumed, not measured)",
          .source = "Assumptions: see docs/device_profile.md.",
          .memory_bytes = 16_GiB,
          .to_host = link,
          .to_device = link,
          .memory_bytes_per_second = kMemoryRate * threads,
          .memory_efficiency = 0.7,
          .flops_per_second = {{DType::kFloat32, kFlops * threads}},
          .compute_efficiency = 0.4,
          .kernel_ns = 5000,
          .issue_ns = 500};
}

}  // namespace spillway
