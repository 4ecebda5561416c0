#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/array/gather.h"
#include "ops/common/function_kernel.h"
#include "ops/cpu/elementwise.h"

namespace spillway::ops {
namespace {

// Calls of(int32_t()) or of(int64_t()).
template <typename Fn>
NewKernel ForIndexType(DType dtype, const Fn& of) {
  return dtype == DType::kInt64 ? of(int64_t()) : of(int32_t());
}

template <typename Index>
NewKernel GatherOf(const KernelRequest& node) {
  const GatherSizes sizes = GatherSizesOf(node);
  const int64_t row_bytes = sizes.inner * SizeOf(node.inputs[0].dtype);
  const int64_t grain = kElementwiseGrain / sizes.inner + 1;
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const auto* x = context.input<std::byte>(0);
    const Index* indices = context.input<Index>(1);
    auto* y = context.output<std::byte>(0);
    ParallelFor(threads, sizes.outer * sizes.count, grain,
                [=](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    const int64_t index = indices[row % sizes.count];
                    std::byte* to = y + row * row_bytes;
                    if (index < 0 || index >= sizes.n) {
                      std::memset(to, 0, static_cast<size_t>(row_bytes));
                      continue;
                    }
                    const int64_t from = row / sizes.count * sizes.n + index;
                    std::memcpy(to, x + from * row_bytes,
                                static_cast<size_t>(row_bytes));
                  }
                });
  });
}

// Each thread has some of the columns and goes through all indices, so that a
// row's sum has the same order for any number of threads.
template <typename Index>
NewKernel GatherGradOf(const KernelRequest& node) {
  const GatherSizes sizes = GatherGradSizesOf(node);
  const int64_t grain = kElementwiseGrain / (sizes.n + sizes.count) + 1;
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const float* dy = context.input<float>(0);
    const Index* indices = context.input<Index>(1);
    float* dx = context.output<float>(0);
    ParallelFor(threads, sizes.inner, grain, [=](int64_t begin, int64_t end) {
      for (int64_t o = 0; o < sizes.outer; ++o) {
        float* table = dx + o * sizes.n * sizes.inner;
        for (int64_t row = 0; row < sizes.n; ++row) {
          std::fill(table + row * sizes.inner + begin,
                    table + row * sizes.inner + end, 0.0F);
        }
        for (int64_t i = 0; i < sizes.count; ++i) {
          const int64_t index = indices[i];
          if (index < 0 || index >= sizes.n) continue;
          const float* from = dy + (o * sizes.count + i) * sizes.inner;
          float* to = table + index * sizes.inner;
#pragma omp simd
          for (int64_t c = begin; c < end; ++c) to[c] += from[c];
        }
      }
    });
  });
}

}  // namespace

NewKernel GatherCpu(const KernelRequest& node) {
  return ForIndexType(node.inputs[1].dtype, [&]<typename Index>(Index) {
    return GatherOf<Index>(node);
  });
}

NewKernel GatherGradCpu(const KernelRequest& node) {
  return ForIndexType(node.inputs[1].dtype, [&]<typename Index>(Index) {
    return GatherGradOf<Index>(node);
  });
}

}  // namespace spillway::ops
