#include <algorithm>
#include <cstdint>

#include "ops/cpu/elementwise.h"
#include "ops/pointwise/add_n.h"

namespace spillway::ops {
namespace {

// Elements that stay in the first-level cache while all inputs are added.
constexpr int64_t kBlock = 2048;

// Computes sum[begin, end), which lies within one block. Any input may be the
// sum: all inputs are read before it is written.
template <typename T>
void AddBlock(const KernelContext& context, int64_t begin, int64_t end) {
  float block[kBlock];
  const T* first = context.input<T>(0) + begin;
  const int64_t n = end - begin;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) block[i] = Load(first[i]);
  for (size_t k = 1; k < context.inputs.size(); ++k) {
    const T* x = context.input<T>(k) + begin;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) block[i] += Load(x[i]);
  }
  T* sum = context.output<T>(0) + begin;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sum[i] = Store<T>(block[i]);
}

template <typename T>
NewKernel Adding(const KernelRequest& node) {
  const int64_t n = node.outputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    ParallelFor(threads, n, kElementwiseGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += kBlock) {
        AddBlock<T>(context, i, std::min(i + kBlock, end));
      }
    });
  });
}

}  // namespace

NewKernel AddNCpu(const KernelRequest& node) {
  return ForStorage(node.inputs[0],
                    [&]<typename T>(T) { return Adding<T>(node); });
}

}  // namespace spillway::ops
