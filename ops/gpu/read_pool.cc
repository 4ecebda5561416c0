#include "ops/gpu/read_pool.h"

#include "base/status_macros.h"
#include "ops/common/pool.h"
#include "ops/gpu/gpu_kernel.h"

namespace spillway {
namespace {

gpu::PoolDim ToPoolDim(const WindowDim& dim) {
  return {.input = dim.input,
          .output = dim.output,
          .size = dim.size,
          .stride = dim.stride,
          .pad_before = dim.pad_before};
}

}  // namespace

absl::StatusOr<gpu::Pool> ReadGpuPool(const Attributes& attributes,
                                      const TensorType& x) {
  RETURN_IF_ERROR(CheckGpuStorage(x));
  ASSIGN_OR_RETURN(const Window window, ReadPoolWindow(attributes, x.shape));
  const size_t last = window.size() - 1;
  return gpu::Pool{.dtype = x.dtype,
                   .batch = x.shape.dim(0),
                   .channels = x.shape.dim(-1),
                   .planes = last == 2 ? ToPoolDim(window[0]) : gpu::PoolDim(),
                   .rows = ToPoolDim(window[last - 1]),
                   .columns = ToPoolDim(window[last])};
}

}  // namespace spillway
