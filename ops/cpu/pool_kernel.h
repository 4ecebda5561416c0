// Average pools by oneDNN, of activations in their stored layout: channels
// last.
#ifndef SPILLWAY_OPS_CPU_POOL_KERNEL_H_
#define SPILLWAY_OPS_CPU_POOL_KERNEL_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "executor/kernel.h"
#include "graph/dtype.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "ops/common/window.h"

namespace spillway {

struct PoolSpec {
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  DType dtype = DType::kFloat32;  // of all tensors
  int64_t batch = 1;
  int64_t channels = 1;
  Window window = {};  // two or three spatial dimensions
  int threads = 1;
};

// Input 0 is x, output 0 is y.
absl::StatusOr<std::unique_ptr<Kernel>> MakePoolKernel(const PoolSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_POOL_KERNEL_H_
