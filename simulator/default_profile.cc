#include "simulator/default_profile.h"

#include "base/units.h"

namespace spillway {

DeviceProfile DefaultCpuProfile(int threads) {
  // One core: 2.5 GHz, at most 32 float32 multiply-adds a cycle; memcpy.
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

DeviceProfile DefaultGpuProfile() {
  // PCIe 4 with 16 lanes, HBM2, tensor cores for 16-bit floats.
  const LinkDirection link = {.latency_ns = 10000,
                              .bytes_per_second = 24e9,
                              .shared_bytes_per_second = 20e9};
  return {.name = "GPU (assumed, not measured)",
          .source = "Assumptions: see docs/device_profile.md.",
          .memory_bytes = 40_GiB,
          .to_host = link,
          .to_device = link,
          .memory_bytes_per_second = 1.5e12,
          .memory_efficiency = 0.75,
          .flops_per_second = {{DType::kFloat32, 19e12},
                               {DType::kBFloat16, 300e12},
                               {DType::kFloat16, 300e12}},
          .compute_efficiency = 0.5,
          .kernel_ns = 4000,
          .issue_ns = 3000};
}

}  // namespace spillway
