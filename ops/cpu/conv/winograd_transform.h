// The transforms of Winograd's algorithm F(2 x 2, 3 x 3), on vectors of
// channels:
//
//   y = A^T [ (G g G^T) * (B^T d B) ] A
//
// where d is a tile of 4 x 4 pixels, g a window of 3 x 3 elements, y the 2 x 2
// pixels that the window gives over d, and * multiplies 16 points, each with
// its own matrix of channels. The gradient of g is G^T [ (A dy A^T) * (B^T d B)
// ] G, with the same matrices.
//
// Source: Lavin, Gray, "Fast algorithms for convolutional neural networks",
// CVPR 2016, section 4.1.
#ifndef SPILLWAY_OPS_CPU_CONV_WINOGRAD_TRANSFORM_H_
#define SPILLWAY_OPS_CPU_CONV_WINOGRAD_TRANSFORM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "ops/cpu/lanes.h"

namespace spillway {

// Each transform multiplies a vector of kFrom numbers with its matrix, which
// gives kTo numbers. Numbers are kFromStep and kToStep apart.

struct WinogradInput {  // B^T
  static constexpr int kFrom = 4;
  static constexpr int kTo = 4;
  template <int kFromStep, int kToStep, typename Floats>
  [[gnu::always_inline]] static void Multiply(const Floats* d, Floats* to) {
    to[0] = d[0] - d[2 * kFromStep];
    to[kToStep] = d[kFromStep] + d[2 * kFromStep];
    to[2 * kToStep] = d[2 * kFromStep] - d[kFromStep];
    to[3 * kToStep] = d[kFromStep] - d[3 * kFromStep];
  }
};

struct WinogradOutput {  // A^T
  static constexpr int kFrom = 4;
  static constexpr int kTo = 2;
  template <int kFromStep, int kToStep, typename Floats>
  [[gnu::always_inline]] static void Multiply(const Floats* m, Floats* to) {
    to[0] = m[0] + m[kFromStep] + m[2 * kFromStep];
    to[kToStep] = m[kFromStep] - m[2 * kFromStep] - m[3 * kFromStep];
  }
};

struct WinogradOutputGradient {  // A
  static constexpr int kFrom = 2;
  static constexpr int kTo = 4;
  template <int kFromStep, int kToStep, typename Floats>
  [[gnu::always_inline]] static void Multiply(const Floats* dy, Floats* to) {
    to[0] = dy[0];
    to[kToStep] = dy[0] + dy[kFromStep];
    to[2 * kToStep] = dy[0] - dy[kFromStep];
    to[3 * kToStep] = -dy[kFromStep];
  }
};

struct WinogradFilter {  // G
  static constexpr int kFrom = 3;
  static constexpr int kTo = 4;
  template <int kFromStep, int kToStep, typename Floats>
  [[gnu::always_inline]] static void Multiply(const Floats* g, Floats* to) {
    const Floats outer = (g[0] + g[2 * kFromStep]) * 0.5F;
    const Floats inner = g[kFromStep] * 0.5F;
    to[0] = g[0];
    to[kToStep] = outer + inner;
    to[2 * kToStep] = outer - inner;
    to[3 * kToStep] = g[2 * kFromStep];
  }
};

struct WinogradFilterGradient {  // G^T
  static constexpr int kFrom = 4;
  static constexpr int kTo = 3;
  template <int kFromStep, int kToStep, typename Floats>
  [[gnu::always_inline]] static void Multiply(const Floats* u, Floats* to) {
    const Floats sum = (u[kFromStep] + u[2 * kFromStep]) * 0.5F;
    const Floats difference = (u[kFromStep] - u[2 * kFromStep]) * 0.5F;
    to[0] = u[0] + sum;
    to[kToStep] = difference;
    to[2 * kToStep] = sum + u[3 * kFromStep];
  }
};

// Where the channels of a square of pixels or points lie, row-major. Null: read
// as zeros, or not written.
template <typename Transform, typename From>
using TransformFrom =
    std::array<const From*, size_t{Transform::kFrom} * Transform::kFrom>;
template <typename Transform, typename To>
using TransformTo = std::array<To*, size_t{Transform::kTo} * Transform::kTo>;

// Multiplies a square with the transform's matrix from both sides, channel by
// channel. What is read is first rounded to `Rounded`.
template <typename Transform, typename From, typename To,
          typename Rounded = From>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void TransformSquare(
    const TransformFrom<Transform, From>& from,
    const TransformTo<Transform, To>& to, int64_t channels) {
  using L = Lanes<64>;
  constexpr int kFrom = Transform::kFrom;
  constexpr int kTo = Transform::kTo;
  const auto transform = [&](int64_t c, int64_t lanes)
      __attribute__((always_inline)) {
    typename L::Floats square[kFrom * kFrom] = {};
    typename L::Floats columns[kTo * kFrom];
    typename L::Floats result[kTo * kTo];
#pragma GCC unroll 16
    for (int i = 0; i < kFrom * kFrom; ++i) {
      const From* place = from[static_cast<size_t>(i)];
      if (place != nullptr) L::Load(place + c, lanes, square[i]);
      if constexpr (!std::is_same_v<Rounded, From>) {
        Rounded rounded[L::kCount];
        L::Store(square[i], L::kCount, rounded);
        L::Load(rounded, L::kCount, square[i]);
      }
    }
#pragma GCC unroll 16
    for (int column = 0; column < kFrom; ++column) {
      Transform::template Multiply<kFrom, kFrom>(square + column,
                                                 columns + column);
    }
#pragma GCC unroll 16
    for (int row = 0; row < kTo; ++row) {
      Transform::template Multiply<1, 1>(columns + row * kFrom,
                                         result + row * kTo);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kTo * kTo; ++i) {
      To* place = to[static_cast<size_t>(i)];
      if (place != nullptr) L::Store(result[i], lanes, place + c);
    }
  };
  int64_t c = 0;
  for (; c + L::kCount <= channels; c += L::kCount) transform(c, L::kCount);
  if (c < channels) transform(c, channels - c);
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_CONV_WINOGRAD_TRANSFORM_H_
