#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/cpu/elementwise.h"
#include "ops/pointwise/add_n.h"

namespace spillway::ops {
namespace {

// Elements that stay in the first-level cache while all inputs are added.
constexpr int64_t kBlock = 2048;

// Adds elements [at(k), at(k) + n) of each input k, at most kBlock, to
// sum[begin, begin + n). Any input may be the sum: all inputs are read before
// it is written.
template <typename T, typename At>
void AddBlock(const KernelContext& context, int64_t begin, int64_t n,
              const At& at) {
  const T* first = context.input<T>(0) + at(0);
  T* sum = context.output<T>(0) + begin;
  if (context.inputs.size() == 2) {
    const T* second = context.input<T>(1) + at(1);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      sum[i] = Store<T>(Load(first[i]) + Load(second[i]));
    }
    return;
  }
  float block[kBlock];
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) block[i] = Load(first[i]);
  for (size_t k = 1; k < context.inputs.size(); ++k) {
    const T* x = context.input<T>(k) + at(k);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) block[i] += Load(x[i]);
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sum[i] = Store<T>(block[i]);
}

template <typename T>
NewKernel Adding(const KernelRequest& node) {
  const int64_t n = node.outputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    ParallelFor(threads, n, kElementwiseGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += kBlock) {
        AddBlock<T>(context, i, std::min(kBlock, end - i),
                    [=](size_t) { return i; });
      }
    });
  });
}

// Inputs are parts.
template <typename T>
NewKernel AddingRows(const KernelRequest& node) {
  const int64_t channels = node.outputs[0].shape.dim(-1);
  const int64_t rows = node.outputs[0].num_elements() / channels;
  const std::vector<int64_t> strides(node.row_strides.begin(),
                                     node.row_strides.end());
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    ParallelFor(threads, rows, kElementwiseGrain / channels + 1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    for (int64_t c = 0; c < channels; c += kBlock) {
                      AddBlock<T>(
                          context, row * channels + c,
                          std::min(kBlock, channels - c),
                          [&](size_t k) { return row * strides[k] + c; });
                    }
                  }
                });
  });
}

}  // namespace

NewKernel AddNCpu(const KernelRequest& node) {
  return ForStorage(node.inputs[0], [&]<typename T>(T) {
    return node.row_strides.empty() ? Adding<T>(node) : AddingRows<T>(node);
  });
}

}  // namespace spillway::ops
