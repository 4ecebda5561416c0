// Copies an N-dimensional box of elements between two strided layouts.
// Transpose, Slice, Concat, Pad and the gradients of sums all use it.
#ifndef SPILLWAY_OPS_CPU_STRIDED_COPY_H_
#define SPILLWAY_OPS_CPU_STRIDED_COPY_H_

#include "ops/common/strided_copy.h"

namespace spillway {

// `copy` must be simplified; `from` and `to` must not overlap.
void CopyStrided(int threads, const StridedCopy& copy, const void* from,
                 void* to);

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_STRIDED_COPY_H_
