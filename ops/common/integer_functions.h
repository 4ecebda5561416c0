// Functions of two integers, on every device. Results that have no place in
// their type wrap around. CUDA sources include it.
#ifndef SPILLWAY_OPS_COMMON_INTEGER_FUNCTIONS_H_
#define SPILLWAY_OPS_COMMON_INTEGER_FUNCTIONS_H_

#include <cstdint>
#include <type_traits>

namespace spillway::integer {

enum class Function : uint8_t { kAdd, kSubtract, kMultiply, kDivide };

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

struct Sum {
  template <typename T>
  constexpr T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Unsigned<T>>(a) +
                          static_cast<Unsigned<T>>(b));
  }
};

struct Difference {
  template <typename T>
  constexpr T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Unsigned<T>>(a) -
                          static_cast<Unsigned<T>>(b));
  }
};

struct Product {
  template <typename T>
  constexpr T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Unsigned<T>>(a) *
                          static_cast<Unsigned<T>>(b));
  }
};

// Without its fraction; 0 of a divisor of 0.
struct Quotient {
  template <typename T>
  constexpr T operator()(T a, T b) const {
    if (b == 0) return 0;
    return b == -1 ? Difference()(T{0}, a) : a / b;
  }
};

}  // namespace spillway::integer

#endif  // SPILLWAY_OPS_COMMON_INTEGER_FUNCTIONS_H_
