#include "ops/gpu/read_pool.h"

#include <algorithm>

#include "base/status_macros.h"
#include "ops/common/pool.h"
#include "ops/gpu/gpu_kernel.h"

namespace spillway {
namespace {

// Kernels use 32 bits for the pixel indices of an image including its padding,
// and for steps from window to window.
absl::Status CheckPixels(const Window& window) {
  double pixels = 1;
  double longest = 0;
  for (const WindowDim& dim : window) {
    const auto length = static_cast<double>(dim.pad_before + dim.input +
                                            dim.pad_after + dim.size);
    pixels *= length;
    longest = std::max(longest, length + static_cast<double>(dim.stride));
  }
  if (std::max(pixels, longest) < 0x1p31) return absl::OkStatus();
  return Unimplemented("the GPU pools images of less than 2^31 pixels only");
}

gpu::PoolDim ToPoolDim(const WindowDim& dim) {
  return {.input = static_cast<int>(dim.input),
          .output = static_cast<int>(dim.output),
          .size = static_cast<int>(dim.size),
          .stride = static_cast<int>(dim.stride),
          .pad_before = static_cast<int>(dim.pad_before)};
}

}  // namespace

absl::StatusOr<gpu::Pool> ReadGpuPool(const Attributes& attributes,
                                      const TensorType& x) {
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  SPILLWAY_ASSIGN_OR_RETURN(const Window window,
                            ReadPoolWindow(attributes, x.shape));
  SPILLWAY_RETURN_IF_ERROR(CheckPixels(window));
  const size_t last = window.size() - 1;
  return gpu::Pool{.dtype = x.dtype,
                   .batch = x.shape.dim(0),
                   .channels = x.shape.dim(-1),
                   .planes = last == 2 ? ToPoolDim(window[0]) : gpu::PoolDim(),
                   .rows = ToPoolDim(window[last - 1]),
                   .columns = ToPoolDim(window[last])};
}

}  // namespace spillway
