// Sums in float32 over one dimension of three, in parallel, bitwise identical
// for any number of threads. Input and output may be stored as bfloat16
// (ops/cpu/storage.h).
//
//   y[o, i] = scale * sum over r of x[o, r, i]
//
// The reduced dimension is split into chunks whose number depends on the sizes
// only; each chunk is summed by one thread, and chunks are added in order. Sums
// run in blocks (a float accumulator takes few additions), so the error grows
// far more slowly than the number of terms.
#ifndef SPILLWAY_OPS_CPU_REDUCE_H_
#define SPILLWAY_OPS_CPU_REDUCE_H_

#include <cstdint>

#include "base/bfloat16.h"
#include "ops/common/reduction.h"

namespace spillway {

// X, Y: float or BFloat16.
template <typename X, typename Y>
struct ReduceArgs {
  int threads = 1;
  const X* x = nullptr;
  float scale = 1;
  float* workspace = nullptr;  // WorkspaceBytes(reduction)
  Y* y = nullptr;              // overlaps neither x nor workspace
};

// At most a few MiB, and 0 if `outer` alone keeps the threads busy.
int64_t WorkspaceBytes(const Reduction& reduction);

template <typename X, typename Y>
void Reduce(const Reduction& reduction, const ReduceArgs<X, Y>& args);

extern template void Reduce(const Reduction&, const ReduceArgs<float, float>&);
extern template void Reduce(const Reduction&,
                            const ReduceArgs<float, BFloat16>&);
extern template void Reduce(const Reduction&,
                            const ReduceArgs<BFloat16, float>&);
extern template void Reduce(const Reduction&,
                            const ReduceArgs<BFloat16, BFloat16>&);

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_REDUCE_H_
