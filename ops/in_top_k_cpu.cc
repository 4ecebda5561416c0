#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/status_macros.h"
#include "ops/cpu/elementwise.h"
#include "ops/in_top_k.h"

namespace spillway::ops {
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
