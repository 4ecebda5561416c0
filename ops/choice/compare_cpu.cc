#include <cstdint>
#include <type_traits>

#include "ops/choice/compare.h"
#include "ops/common/choice_functions.h"
#include "ops/cpu/strided_map.h"

namespace spillway::ops {
namespace {

template <typename T, typename Fn>
NewKernel Compared(const KernelRequest& node, Fn fn) {
  return StridedBinaryOf<T, bool>(node, [fn](T a, T b) {
    if constexpr (std::is_arithmetic_v<T>) {
      return fn(a, b);
    } else {
      return fn(Load(a), Load(b));
    }
  });
}

template <typename Fn>
NewKernel NewCompare(const KernelRequest& node, Fn fn) {
  switch (node.inputs[0].dtype) {
    case DType::kFloat32:
      return Compared<float>(node, fn);
    case DType::kBFloat16:
      return Compared<BFloat16>(node, fn);
    case DType::kInt32:
      return Compared<int32_t>(node, fn);
    case DType::kInt64:
      return Compared<int64_t>(node, fn);
    case DType::kUInt8:
      return Compared<uint8_t>(node, fn);
    case DType::kBool:
      return Compared<bool>(node, fn);
    case DType::kFloat16:
      break;
  }
  return NoSuchStorage(node.inputs[0]);
}

}  // namespace

NewKernel EqualCpu(const KernelRequest& node) {
  return NewCompare(node, choice::Equal());
}

NewKernel LessCpu(const KernelRequest& node) {
  return NewCompare(node, choice::Less());
}

NewKernel LessEqualCpu(const KernelRequest& node) {
  return NewCompare(node, choice::LessEqual());
}

NewKernel LogicalAndCpu(const KernelRequest& node) {
  return Compared<bool>(node, choice::And());
}

NewKernel LogicalOrCpu(const KernelRequest& node) {
  return Compared<bool>(node, choice::Or());
}

NewKernel LogicalXorCpu(const KernelRequest& node) {
  return Compared<bool>(node, choice::Xor());
}

}  // namespace spillway::ops
