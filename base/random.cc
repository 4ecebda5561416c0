#include "base/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace spillway {
namespace {

// Each index has this many blocks of the generator, one for each redraw.
constexpr uint64_t kDrawsPerIndex = 16;

// [0, 1): 53 random bits, exact in double.
double UniformDouble(uint32_t high, uint32_t low) {
  const uint64_t bits = (uint64_t{high} << 32) | low;
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

double NormalDraw(uint64_t key, uint64_t index, uint64_t draw) {
  const auto words = Philox4x32(key, index * kDrawsPerIndex + draw);
  const double radius_uniform = 1.0 - UniformDouble(words[0], words[1]);  // > 0
  const double angle_uniform = UniformDouble(words[2], words[3]);
  return std::sqrt(-2.0 * std::log(radius_uniform)) *
         std::cos(2.0 * std::numbers::pi * angle_uniform);
}

}  // namespace

double NormalAt(uint64_t key, uint64_t index) {
  return NormalDraw(key, index, 0);
}

double TruncatedNormalAt(uint64_t key, uint64_t index) {
  double x = 0.0;
  for (uint64_t draw = 0; draw < kDrawsPerIndex; ++draw) {
    x = NormalDraw(key, index, draw);
    if (std::abs(x) <= 2.0) return x;
  }
  return std::clamp(x, -2.0, 2.0);  // reached once in 10^21 numbers
}

}  // namespace spillway
