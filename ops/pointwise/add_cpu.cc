#include <cmath>

#include "ops/common/choice_functions.h"
#include "ops/common/integer_functions.h"
#include "ops/cpu/broadcast.h"
#include "ops/pointwise/add.h"

namespace spillway::ops {
namespace {

template <typename Fn>
NewKernel IntegerKernel(const KernelRequest& node, Fn fn) {
  return node.inputs[0].dtype == DType::kInt64
             ? StridedBinaryOf<int64_t, int64_t>(node, fn)
             : StridedBinaryOf<int32_t, int32_t>(node, fn);
}

// By the operands' dtype.
template <typename Fn, typename IntegerFn>
NewKernel NumberKernel(const KernelRequest& node, Fn fn,
                       IntegerFn of_integers) {
  return IsFloating(node.inputs[0].dtype) ? BroadcastKernel(node, fn)
                                          : IntegerKernel(node, of_integers);
}

}  // namespace

NewKernel AddCpu(const KernelRequest& node) {
  return NumberKernel(
      node, [](float a, float b) { return a + b; }, integer::Sum());
}

NewKernel GreaterShareCpu(const KernelRequest& node) {
  return BroadcastKernel(node, choice::GreaterShare());
}

NewKernel MaximumCpu(const KernelRequest& node) {
  return BroadcastKernel(node, choice::Larger());
}

NewKernel MinimumCpu(const KernelRequest& node) {
  return BroadcastKernel(node, choice::Smaller());
}

NewKernel MulCpu(const KernelRequest& node) {
  return NumberKernel(
      node, [](float a, float b) { return a * b; }, integer::Product());
}

NewKernel PowCpu(const KernelRequest& node) {
  return BroadcastKernel(node, [](float a, float b) { return std::pow(a, b); });
}

NewKernel RealDivCpu(const KernelRequest& node) {
  return BroadcastKernel(node, [](float a, float b) { return a / b; });
}

NewKernel SubCpu(const KernelRequest& node) {
  return NumberKernel(
      node, [](float a, float b) { return a - b; }, integer::Difference());
}

NewKernel TruncateDivCpu(const KernelRequest& node) {
  return IntegerKernel(node, integer::Quotient());
}

}  // namespace spillway::ops
