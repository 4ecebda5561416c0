#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/status_macros.h"
#include "ops/common/expect.h"
#include "ops/cpu/elementwise.h"
#include "ops/loss/classify.h"

namespace spillway::ops {
namespace {

// For n elements that are `stride` apart.
template <typename T>
int32_t PlaceOfLargest(const T* x, int64_t n, int64_t stride) {
  int64_t place = 0;
  for (int64_t i = 1; i < n; ++i) {
    if (Load(x[i * stride]) > Load(x[place * stride])) place = i;
  }
  return static_cast<int32_t>(place);
}

template <typename T>
NewKernel ArgMaxOf(const KernelRequest& node) {
  const Shape& shape = node.inputs[0].shape;
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t axis, node.attributes.GetInt("axis"));
  SPILLWAY_ASSIGN_OR_RETURN(const int resolved,
                            ResolveAxis(axis, shape.rank()));
  int64_t inner = 1;
  for (int i = resolved + 1; i < shape.rank(); ++i) inner *= shape.dim(i);
  const int64_t n = shape.dim(resolved);
  const int64_t places = node.outputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const T* x = context.input<T>(0);
    int32_t* y = context.output<int32_t>(0);
    ParallelFor(threads, places, kElementwiseGrain / n + 1,
                [=](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t first = i / inner * n * inner + i % inner;
                    y[i] = PlaceOfLargest(x + first, n, inner);
                  }
                });
  });
}

}  // namespace

NewKernel ArgMaxCpu(const KernelRequest& node) {
  return ForStorage(node.inputs[0],
                    [&]<typename T>(T) { return ArgMaxOf<T>(node); });
}

namespace {

template <typename T>
bool IsInTopK(const T* predictions, int64_t classes, int32_t label, int64_t k) {
  if (label < 0 || label >= classes) return false;
  const float target = Load(predictions[label]);
  if (!std::isfinite(target)) return false;
  return std::count_if(predictions, predictions + classes,
                       [=](T p) { return Load(p) > target; }) < k;
}

template <typename T>
NewKernel InTopKOf(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t k, node.attributes.GetInt("k"));
  const int64_t rows = node.inputs[0].shape.dim(0);
  const int64_t classes = node.inputs[0].shape.dim(1);
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const T* predictions = context.input<T>(0);
    const int32_t* labels = context.input<int32_t>(1);
    bool* y = context.output<bool>(0);
    ParallelFor(threads, rows, kElementwiseGrain / classes + 1,
                [=](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    y[row] = IsInTopK(predictions + row * classes, classes,
                                      labels[row], k);
                  }
                });
  });
}

}  // namespace

NewKernel InTopKCpu(const KernelRequest& node) {
  return ForStorage(node.inputs[0],
                    [&]<typename T>(T) { return InTopKOf<T>(node); });
}

}  // namespace spillway::ops
