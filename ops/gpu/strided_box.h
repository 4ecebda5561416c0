// A StridedBox of the GPU (strided_copy.h) from a StridedCopy, for host code.
#ifndef SPILLWAY_OPS_GPU_STRIDED_BOX_H_
#define SPILLWAY_OPS_GPU_STRIDED_BOX_H_

#include "ops/common/strided_copy.h"
#include "ops/gpu/kernel/strided_copy.h"

namespace spillway {

// `copy` simplified. If its innermost dimension is contiguous on both sides,
// elements are as wide as all sizes, strides and starts allow.
gpu::StridedBox MakeStridedBox(const StridedCopy& copy);

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_STRIDED_BOX_H_
