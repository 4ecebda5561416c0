#include "comm/reduce.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/bfloat16.h"
#include "base/check.h"
#include "base/float16.h"

namespace spillway {
namespace {

float Wide(BFloat16 x) { return ToFloat(x); }
float Wide(Float16 x) { return ToFloat(x); }
template <typename T>
T Wide(T x) {
  return x;
}

template <typename T>
T Narrow(std::conditional_t<sizeof(T) == 2, float, T> x) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return ToBFloat16(x);
  } else if constexpr (std::is_same_v<T, Float16>) {
    return ToFloat16(x);
  } else {
    return x;
  }
}

// Two's complement, without the overflow of signed integers.
template <typename T>
T Sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Bits = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Bits>(a) + static_cast<Bits>(b));
  } else {
    return a + b;
  }
}

template <typename T>
bool IsNan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  return false;
}

// +0 is above -0, so that neither order of the ranks matters.
template <typename T>
T Larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a == b) return std::signbit(a) ? b : a;
  }
  return IsNan(a) || a > b ? a : b;
}

template <typename T>
T Smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a == b) return std::signbit(a) ? a : b;
  }
  return IsNan(a) || a < b ? a : b;
}

template <typename T, typename Combine>
void Reduce(T* to, const T* from, int64_t count, const Combine& combine) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = Narrow<T>(combine(Wide(to[i]), Wide(from[i])));
  }
}

template <typename T>
void ReduceAs(void* to, const void* from, int64_t count, ReduceOp op) {
  auto* const a = static_cast<T*>(to);
  const auto* const b = static_cast<const T*>(from);
  switch (op) {
    case ReduceOp::kSum:
      return Reduce(a, b, count, [](auto x, auto y) { return Sum(x, y); });
    case ReduceOp::kMax:
      return Reduce(a, b, count, [](auto x, auto y) { return Larger(x, y); });
    case ReduceOp::kMin:
      return Reduce(a, b, count, [](auto x, auto y) { return Smaller(x, y); });
  }
}

}  // namespace

void ReduceInto(void* to, const void* from, int64_t count, DType dtype,
                ReduceOp op) {
  switch (dtype) {
    case DType::kFloat32:
      return ReduceAs<float>(to, from, count, op);
    case DType::kBFloat16:
      return ReduceAs<BFloat16>(to, from, count, op);
    case DType::kFloat16:
      return ReduceAs<Float16>(to, from, count, op);
    case DType::kInt32:
      return ReduceAs<int32_t>(to, from, count, op);
    case DType::kInt64:
      return ReduceAs<int64_t>(to, from, count, op);
    case DType::kUInt8:
      return ReduceAs<uint8_t>(to, from, count, op);
    case DType::kBool:
      break;
  }
  SPILLWAY_CHECK(false);
}

}  // namespace spillway
