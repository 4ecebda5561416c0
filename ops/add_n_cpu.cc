#include <algorithm>
#include <cstdint>

#include "ops/add_n.h"
#include "ops/cpu/elementwise.h"

namespace spillway::ops {
namespace {

// Elements that stay in the first-level cache while all inputs are added.
constexpr int64_t kBlock = 2048;

// sum[begin, end), which lies within one block. An input other than the first
// may not be the sum, but the first may appear again among the inputs.
void AddBlock(const KernelContext& context, int64_t begin, int64_t end) {
  float block[kBlock];
  const float* first = context.input<float>(0) + begin;
  const int64_t n = end - begin;
  std::copy_n(first, n, block);
  for (size_t k = 1; k < context.inputs.size(); ++k) {
    const float* x = context.input<float>(k) + begin;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) block[i] += x[i];
  }
  std::copy_n(block, n, context.output<float>(0) + begin);
}

}  // namespace

NewKernel AddNCpu(const KernelRequest& node) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  const int64_t n = node.outputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    ParallelFor(threads, n, kElementwiseGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += kBlock) {
        AddBlock(context, i, std::min(i + kBlock, end));
      }
    });
  });
}

}  // namespace spillway::ops
