// A StridedBox of the GPU (strided_copy.h) from a StridedCopy, for host code.
#ifndef SPILLWAY_OPS_GPU_STRIDED_BOX_H_
#define SPILLWAY_OPS_GPU_STRIDED_BOX_H_

#include <cstdint>

#include "ops/common/strided_copy.h"
#include "ops/gpu/strided_copy.h"

namespace spillway {

// Where the two layouts start, from the start of their tensors.
struct FirstBytes {
  int64_t from = 0;
  int64_t to = 0;
};

// `copy` simplified. Where its innermost dimension is contiguous on both sides,
// elements become as wide as all sizes, strides and first bytes allow.
gpu::StridedBox MakeStridedBox(const StridedCopy& copy,
                               const FirstBytes& first = {});

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_STRIDED_BOX_H_
