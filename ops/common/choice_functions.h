// Functions of two numbers that choose one of them, or tell how they are
// ordered, on every device. CUDA sources include it.
#ifndef SPILLWAY_OPS_COMMON_CHOICE_FUNCTIONS_H_
#define SPILLWAY_OPS_COMMON_CHOICE_FUNCTIONS_H_

#include <cstdint>

namespace spillway::choice {

// The larger or smaller number; NaN if one of them is.
struct Larger {
  constexpr float operator()(float a, float b) const {
    return a > b || a != a ? a : b;
  }
};
struct Smaller {
  constexpr float operator()(float a, float b) const {
    return a < b || a != a ? a : b;
  }
};

// What part of the larger number's gradient is a's.
struct GreaterShare {
  constexpr float operator()(float a, float b) const {
    if (a == b) return 0.5F;
    return a > b ? 1.0F : 0.0F;
  }
};

enum class Test : uint8_t { kEqual, kLess, kLessEqual, kAnd, kOr, kXor };

struct Equal {
  template <typename T>
  constexpr bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Less {
  template <typename T>
  constexpr bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <typename T>
  constexpr bool operator()(T a, T b) const {
    return a <= b;
  }
};

// Of bools.
struct And {
  constexpr bool operator()(bool a, bool b) const { return a && b; }
};
struct Or {
  constexpr bool operator()(bool a, bool b) const { return a || b; }
};
struct Xor {
  constexpr bool operator()(bool a, bool b) const { return a != b; }
};

}  // namespace spillway::choice

#endif  // SPILLWAY_OPS_COMMON_CHOICE_FUNCTIONS_H_
