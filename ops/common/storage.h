// One element of a tensor of floats: float32, or bfloat16 or float16, which are
// widened on load and rounded once on store. Plain functions, usable in CUDA
// sources too.
#ifndef SPILLWAY_OPS_COMMON_STORAGE_H_
#define SPILLWAY_OPS_COMMON_STORAGE_H_

#include <type_traits>

#include "base/bfloat16.h"
#include "base/float16.h"

namespace spillway {

constexpr float Load(float x) { return x; }
constexpr float Load(BFloat16 x) { return ToFloat(x); }
constexpr float Load(Float16 x) { return ToFloat(x); }

template <typename T>
constexpr T Store(float x) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return ToBFloat16(x);
  } else if constexpr (std::is_same_v<T, Float16>) {
    return ToFloat16(x);
  } else {
    static_assert(std::is_same_v<T, float>);
    return x;
  }
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_STORAGE_H_
