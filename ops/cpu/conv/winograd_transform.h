// The transforms of Winograd's algorithm for windows of 3 x 3, on vectors of
// channels:
//
//   y = A^T [ (G g G^T) * (B^T d B) ] A
//
// where y is a tile of pixels, d the pixels under the windows of the tile, g a
// window's elements, and * multiplies points, each with its own matrix of
// channels. The gradient of g is G^T [ (A dy A^T) * (B^T d B) ] G, with the
// same matrices.
//
// F(2 x 2, 3 x 3) evaluates polynomials at 0, 1, -1 and infinity, F(4 x 4, 3 x
// 3) at 0, 1, -1, 1/2, -2 and infinity, which err less than the common choice
// of 2 and -2.
//
// Sources: Lavin, Gray, "Fast algorithms for convolutional neural networks",
// CVPR 2016, section 4; the points: Barabasz et al., "Error analysis and
// improving the accuracy of Winograd convolution for deep neural networks", ACM
// TOMS 2020.
#ifndef SPILLWAY_OPS_CPU_CONV_WINOGRAD_TRANSFORM_H_
#define SPILLWAY_OPS_CPU_CONV_WINOGRAD_TRANSFORM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "ops/cpu/lanes.h"

namespace spillway {

// Every transform multiplies a vector of kFrom numbers with its matrix, which
// gives kTo numbers. Numbers are kFromStep and kToStep apart.

// F(2 x 2, 3 x 3): 16 multiplications in place of 36.
struct Winograd2x2 {
  static constexpr int kTile = 2;    // pixels of y in a row or column
  static constexpr int kPoints = 4;  // in a row or column

  struct Input {  // B^T
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

  struct Output {  // A^T
    static constexpr int kFrom = 4;
    static constexpr int kTo = 2;
    template <int kFromStep, int kToStep, typename Floats>
    [[gnu::always_inline]] static void Multiply(const Floats* m, Floats* to) {
      to[0] = m[0] + m[kFromStep] + m[2 * kFromStep];
      to[kToStep] = m[kFromStep] - m[2 * kFromStep] - m[3 * kFromStep];
    }
  };

  struct OutputGradient {  // A
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

  struct Filter {  // G
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

  struct FilterGradient {  // G^T
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
};

// F(4 x 4, 3 x 3): 36 multiplications in place of 144.
struct Winograd4x4 {
  static constexpr int kTile = 4;
  static constexpr int kPoints = 6;

  // The rows are products of (x^2 + 3/2 x - 1) and (x^2 - 1) without one factor
  // each.
  struct Input {
    static constexpr int kFrom = 6;
    static constexpr int kTo = 6;
    template <int kFromStep, int kToStep, typename Floats>
    [[gnu::always_inline]] static void Multiply(const Floats* d, Floats* to) {
      constexpr int kD = kFromStep;
      const Floats at0 = d[2 * kD] + d[kD] * 1.5F - d[0];
      const Floats at1 = d[3 * kD] + d[2 * kD] * 1.5F - d[kD];
      const Floats at2 = d[4 * kD] + d[3 * kD] * 1.5F - d[2 * kD];
      const Floats at3 = d[5 * kD] + d[4 * kD] * 1.5F - d[3 * kD];
      const Floats even = d[4 * kD] - d[2 * kD];
      const Floats odd = d[3 * kD] - d[kD];
      to[0] = at2 - at0;
      to[kToStep] = at2 + at1;
      to[2 * kToStep] = at2 - at1;
      to[3 * kToStep] = even + odd * 2.0F;
      to[4 * kToStep] = even - odd * 0.5F;
      to[5 * kToStep] = at3 - at1;
    }
  };

  struct Output {
    static constexpr int kFrom = 6;
    static constexpr int kTo = 4;
    template <int kFromStep, int kToStep, typename Floats>
    [[gnu::always_inline]] static void Multiply(const Floats* m, Floats* to) {
      const Floats sum = m[kFromStep] + m[2 * kFromStep];
      const Floats difference = m[kFromStep] - m[2 * kFromStep];
      const Floats half = m[3 * kFromStep];
      const Floats two = m[4 * kFromStep];
      to[0] = m[0] + sum + (half + two);
      to[kToStep] = difference + (half * 0.5F - two * 2.0F);
      to[2 * kToStep] = sum + (half * 0.25F + two * 4.0F);
      to[3 * kToStep] =
          difference + (half * 0.125F - two * 8.0F) + m[5 * kFromStep];
    }
  };

  struct OutputGradient {
    static constexpr int kFrom = 4;
    static constexpr int kTo = 6;
    template <int kFromStep, int kToStep, typename Floats>
    [[gnu::always_inline]] static void Multiply(const Floats* dy, Floats* to) {
      const Floats even = dy[0] + dy[2 * kFromStep];
      const Floats odd = dy[kFromStep] + dy[3 * kFromStep];
      to[0] = dy[0];
      to[kToStep] = even + odd;
      to[2 * kToStep] = even - odd;
      to[3 * kToStep] = (dy[0] + dy[2 * kFromStep] * 0.25F) +
                        (dy[kFromStep] * 0.5F + dy[3 * kFromStep] * 0.125F);
      to[4 * kToStep] = (dy[0] + dy[2 * kFromStep] * 4.0F) -
                        (dy[kFromStep] * 2.0F + dy[3 * kFromStep] * 8.0F);
      to[5 * kToStep] = dy[3 * kFromStep];
    }
  };

  struct Filter {
    static constexpr int kFrom = 3;
    static constexpr int kTo = 6;
    template <int kFromStep, int kToStep, typename Floats>
    [[gnu::always_inline]] static void Multiply(const Floats* g, Floats* to) {
      const Floats outer = (g[0] + g[2 * kFromStep]) * (1.0F / 3);
      const Floats inner = g[kFromStep] * (1.0F / 3);
      to[0] = g[0];
      to[kToStep] = inner + outer;
      to[2 * kToStep] = inner - outer;
      to[3 * kToStep] =
          (g[0] * 4.0F + g[kFromStep] * 2.0F + g[2 * kFromStep]) * (-4.0F / 15);
      to[4 * kToStep] =
          (g[0] - g[kFromStep] * 2.0F + g[2 * kFromStep] * 4.0F) * (1.0F / 15);
      to[5 * kToStep] = g[2 * kFromStep];
    }
  };

  struct FilterGradient {
    static constexpr int kFrom = 6;
    static constexpr int kTo = 3;
    template <int kFromStep, int kToStep, typename Floats>
    [[gnu::always_inline]] static void Multiply(const Floats* u, Floats* to) {
      const Floats sum = (u[kFromStep] + u[2 * kFromStep]) * (1.0F / 3);
      const Floats difference = (u[kFromStep] - u[2 * kFromStep]) * (1.0F / 3);
      const Floats half = u[3 * kFromStep] * (-4.0F / 15);
      const Floats two = u[4 * kFromStep] * (1.0F / 15);
      to[0] = u[0] + difference + (half * 4.0F + two);
      to[kToStep] = sum + (half - two) * 2.0F;
      to[2 * kToStep] = difference + (half + two * 4.0F) + u[5 * kFromStep];
    }
  };
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
#pragma GCC unroll 36
    for (int i = 0; i < kFrom * kFrom; ++i) {
      const From* place = from[static_cast<size_t>(i)];
      if (place != nullptr) L::Load(place + c, lanes, square[i]);
      if constexpr (!std::is_same_v<Rounded, From>) {
        Rounded rounded[L::kCount];
        L::Store(square[i], L::kCount, rounded);
        L::Load(rounded, L::kCount, square[i]);
      }
    }
#pragma GCC unroll 6
    for (int column = 0; column < kFrom; ++column) {
      Transform::template Multiply<kFrom, kFrom>(square + column,
                                                 columns + column);
    }
#pragma GCC unroll 6
    for (int row = 0; row < kTo; ++row) {
      Transform::template Multiply<1, 1>(columns + row * kFrom,
                                         result + row * kTo);
    }
#pragma GCC unroll 36
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
