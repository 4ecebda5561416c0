// Pools by oneDNN: float32, NHWC as it lies.
#ifndef SPILLWAY_OPS_CPU_POOL_KERNEL_H_
#define SPILLWAY_OPS_CPU_POOL_KERNEL_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "executor/kernel.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "ops/common/window.h"

namespace spillway {

struct PoolSpec {
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  int64_t batch = 1;
  int64_t channels = 1;
  Window window = {};  // rows, columns
  int threads = 1;
};

// Input 0 is x, output 0 is y.
absl::StatusOr<std::unique_ptr<Kernel>> MakePoolKernel(const PoolSpec& spec);

// Input 0 is dy, output 0 is dx; for averages only.
absl::StatusOr<std::unique_ptr<Kernel>> MakePoolGradKernel(
    const PoolSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_POOL_KERNEL_H_
