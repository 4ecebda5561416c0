// Copies an N-dimensional box between two strided layouts of the GPU's memory,
// and fills memory. Elements of any type are copied as bytes.
#ifndef SPILLWAY_OPS_GPU_KERNEL_STRIDED_COPY_H_
#define SPILLWAY_OPS_GPU_KERNEL_STRIDED_COPY_H_

#include <cstdint>

#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

// Dimensions of a box; a Shape has at most as many.
inline constexpr int kMostDims = 8;

struct StridedDim {
  int64_t size = 1;
  int64_t from_stride = 0;  // 0 repeats elements
  int64_t to_stride = 0;
};

// Strides and offsets count elements of `element_bytes` bytes: 1, 2, 4, 8 or
// 16. The starts of both layouts are aligned to that size.
struct StridedBox {
  StridedDim dims[kMostDims] = {};  // outermost first
  int rank = 1;
  int64_t from_offset = 0;
  int64_t to_offset = 0;
  int64_t element_bytes = 4;
};

// `from` and `to` must not overlap.
LaunchError CopyBox(StreamHandle stream, const StridedBox& box,
                    const void* from, void* to);

// Repeats the 8 bytes of `pattern`; `to` is 16-byte aligned.
LaunchError Fill(StreamHandle stream, uint64_t pattern, void* to,
                 int64_t num_bytes);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_STRIDED_COPY_H_
