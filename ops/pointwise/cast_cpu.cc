#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/cpu/elementwise.h"
#include "ops/pointwise/cast.h"

namespace spillway::ops {
namespace {

template <typename To, typename From>
To Convert(From x) {
  if constexpr (std::is_same_v<From, BFloat16>) {
    return Convert<To>(ToFloat(x));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return ToBFloat16(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_integral_v<To> &&
                       std::is_floating_point_v<From>) {
    if (std::isnan(x)) return 0;
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    if (x >= static_cast<From>(std::numeric_limits<To>::max())) {
      return std::numeric_limits<To>::max();
    }
    return static_cast<To>(x);
  } else if constexpr (std::is_integral_v<To>) {
    // Through 64 bits, which hold every integer type used here.
    const auto wide = static_cast<int64_t>(x);
    if (wide < int64_t{std::numeric_limits<To>::min()}) {
      return std::numeric_limits<To>::min();
    }
    if (wide > int64_t{std::numeric_limits<To>::max()}) {
      return std::numeric_limits<To>::max();
    }
    return static_cast<To>(wide);
  } else {
    return static_cast<To>(x);
  }
}

template <typename To, typename From>
NewKernel Casting(const KernelRequest& node) {
  const int64_t n = node.outputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const From* x = context.input<From>(0);
    To* y = context.output<To>(0);
    ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = Convert<To>(x[i]);
    });
  });
}

template <typename From>
NewKernel CastingFrom(const KernelRequest& node) {
  switch (node.outputs[0].dtype) {
    case DType::kFloat32:
      return Casting<float, From>(node);
    case DType::kInt32:
      return Casting<int32_t, From>(node);
    case DType::kInt64:
      return Casting<int64_t, From>(node);
    case DType::kUInt8:
      return Casting<uint8_t, From>(node);
    case DType::kBool:
      return Casting<bool, From>(node);
    case DType::kBFloat16:
      return Casting<BFloat16, From>(node);
    case DType::kFloat16:
      break;
  }
  return NoSuchStorage(node.outputs[0]);
}

}  // namespace

NewKernel CastCpu(const KernelRequest& node) {
  switch (node.inputs[0].dtype) {
    case DType::kFloat32:
      return CastingFrom<float>(node);
    case DType::kInt32:
      return CastingFrom<int32_t>(node);
    case DType::kInt64:
      return CastingFrom<int64_t>(node);
    case DType::kUInt8:
      return CastingFrom<uint8_t>(node);
    case DType::kBool:
      return CastingFrom<bool>(node);
    case DType::kBFloat16:
      return CastingFrom<BFloat16>(node);
    case DType::kFloat16:
      break;
  }
  return NoSuchStorage(node.inputs[0]);
}

}  // namespace spillway::ops
