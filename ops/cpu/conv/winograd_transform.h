// The transforms of Winograd's algorithm, on vectors of channels. For windows
// of kTaps elements in one dimension:
//
//   y = A^T [ (G g) * (B^T d) ]
//
// where y is a tile of kTile pixels, d the pixels under the windows of the
// tile, g a window's elements, and * multiplies points, each with its own
// matrix of channels. The gradient of g is G^T [ (A dy) * (B^T d) ], with the
// same matrices. In two dimensions, each matrix multiplies squares from both
// sides.
//
// The rows of A and G are the powers of the points at which polynomials are
// evaluated, those of B^T the coefficients of the polynomials that are zero at
// all other points (Lagrange).
//
// Sources: Lavin, Gray, "Fast algorithms for convolutional neural networks",
// CVPR 2016, section 4; the points: Barabasz et al., "Error analysis and
// improving the accuracy of Winograd convolution for deep neural networks", ACM
// TOMS 2020.
#ifndef SPILLWAY_OPS_CPU_CONV_WINOGRAD_TRANSFORM_H_
#define SPILLWAY_OPS_CPU_CONV_WINOGRAD_TRANSFORM_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "ops/cpu/lanes.h"

namespace spillway {

// The finite points of F(kTile, kTaps), where kPoints is kTile + kTaps - 1. The
// last point is infinity.
template <int kPoints>
inline constexpr std::array<double, kPoints - 1> kWinogradPoints = {};
template <>
inline constexpr std::array<double, 3> kWinogradPoints<4> = {0, 1, -1};
template <>
inline constexpr std::array<double, 5> kWinogradPoints<6> = {0, 1, -1, 0.5, -2};
// These err least with windows of 7 among all symmetric choices of 22 numbers
// from 1/4 to 4 (half as much as 0, 1/2, 1, 2 and their negatives with -4).
template <>
inline constexpr std::array<double, 8> kWinogradPoints<9> = {
    0.25, -0.25, 0.625, -0.625, 1.25, -1.25, 2.5, -2.5};

template <int kRows, int kColumns>
struct WinogradMatrix {
  static constexpr int kHeight = kRows;
  static constexpr int kWidth = kColumns;

  std::array<std::array<double, kColumns>, kRows> at = {};

  // Whether row `other` is row `row` with some signs changed: they are the sum
  // and the difference of the same two sums.
  constexpr bool AreTwins(size_t row, size_t other) const {
    for (size_t k = 0; k < kColumns; ++k) {
      if (at[row][k] != at[other][k] && at[row][k] != -at[other][k]) {
        return false;
      }
    }
    return true;
  }
  // Itself, if it has none.
  constexpr size_t TwinOf(size_t row) const {
    for (size_t other = 0; other < kRows; ++other) {
      if (other != row && AreTwins(row, other)) return other;
    }
    return row;
  }
};

// Row `i`: 1, p, p^2, ... for point i, times `scale(i)`; the last for infinity.
template <int kPoints, int kColumns, typename Scale>
constexpr WinogradMatrix<kPoints, kColumns> PowersOfPoints(const Scale& scale) {
  WinogradMatrix<kPoints, kColumns> powers;
  for (size_t i = 0; i + 1 < kPoints; ++i) {
    double power = scale(i);
    for (double& x : powers.at[i]) {
      x = power;
      power *= kWinogradPoints<kPoints>[i];
    }
  }
  powers.at[kPoints - 1][kColumns - 1] = 1;
  return powers;
}

// The product of all p_i - p_k.
template <int kPoints>
constexpr double LagrangeScale(size_t i) {
  double product = 1;
  for (size_t k = 0; k + 1 < kPoints; ++k) {
    if (k != i) {
      product *= kWinogradPoints<kPoints>[i] - kWinogradPoints<kPoints>[k];
    }
  }
  return product;
}

// Row `i`: the product of all x - p_k but that of k = i.
template <int kPoints>
constexpr WinogradMatrix<kPoints, kPoints> LagrangePolynomials() {
  WinogradMatrix<kPoints, kPoints> polynomials;
  for (size_t i = 0; i < kPoints; ++i) {
    auto& row = polynomials.at[i];
    row[0] = 1;
    for (size_t k = 0; k + 1 < kPoints; ++k) {
      if (k == i) continue;
      for (size_t power = kPoints - 1; power > 0; --power) {
        row[power] = row[power - 1] - kWinogradPoints<kPoints>[k] * row[power];
      }
      row[0] *= -kWinogradPoints<kPoints>[k];
    }
  }
  return polynomials;
}

// Adds c * x to `sum`; the first product is the sum.
template <bool kIsFirst, typename Floats>
[[gnu::always_inline]] inline void AddProduct(double c, const Floats& x,
                                              Floats& sum) {
  const auto factor = static_cast<float>(c);
  if constexpr (kIsFirst) {
    sum = x * factor;
  } else {
    sum += x * factor;
  }
}

// Which products of a row belong to a sum: all of them, or those that a twin
// has with the same, or with the other sign.
enum class TwinPart : uint8_t { kAll, kSame, kOpposite };

// Transforms multiply kFrom numbers with a matrix, which gives kTo numbers.
// Numbers are kFromStep and kToStep apart.
template <const auto& kMatrix>
struct MultiplyBy {
  static constexpr int kFrom = kMatrix.kWidth;
  static constexpr int kTo = kMatrix.kHeight;

  template <int kFromStep, int kToStep, typename Floats>
  [[gnu::always_inline]] static void Multiply(const Floats* from, Floats* to) {
    MultiplyRows<kFromStep, kToStep>(from, to, std::make_index_sequence<kTo>());
  }

 private:
  static constexpr double Factor(size_t row, size_t column, TwinPart part) {
    const double own = kMatrix.at[row][column];
    if (part == TwinPart::kAll) return own;
    const double other = kMatrix.at[kMatrix.TwinOf(row)][column];
    return (own == other) == (part == TwinPart::kSame) ? own : 0;
  }
  static constexpr bool IsFirst(size_t row, size_t column, TwinPart part) {
    for (size_t k = 0; k < column; ++k) {
      if (Factor(row, k, part) != 0) return false;
    }
    return true;
  }

  template <int kFromStep, int kToStep, typename Floats, size_t... kRow>
  [[gnu::always_inline]] static void MultiplyRows(
      const Floats* from, Floats* to, std::index_sequence<kRow...>) {
    (MultiplyRow<kRow, kFromStep, kToStep>(from, to), ...);
  }

  // And its twin.
  template <size_t kRow, int kFromStep, int kToStep, typename Floats>
  [[gnu::always_inline]] static void MultiplyRow(const Floats* from,
                                                 Floats* to) {
    constexpr size_t kTwin = kMatrix.TwinOf(kRow);
    if constexpr (kTwin == kRow) {
      Sum<kRow, TwinPart::kAll, kFromStep>(from, to[kRow * kToStep]);
    } else if constexpr (kTwin > kRow) {
      Floats same;
      Floats opposite;
      Sum<kRow, TwinPart::kSame, kFromStep>(from, same);
      Sum<kRow, TwinPart::kOpposite, kFromStep>(from, opposite);
      to[kRow * kToStep] = same + opposite;
      to[kTwin * kToStep] = same - opposite;
    }
  }

  template <size_t kRow, TwinPart kPart, int kFromStep, typename Floats>
  [[gnu::always_inline]] static void Sum(const Floats* from, Floats& sum) {
    AddColumns<kRow, kPart, kFromStep>(from, sum,
                                       std::make_index_sequence<kFrom>());
  }
  template <size_t kRow, TwinPart kPart, int kFromStep, typename Floats,
            size_t... kColumn>
  [[gnu::always_inline]] static void AddColumns(
      const Floats* from, Floats& sum, std::index_sequence<kColumn...>) {
    (AddColumn<kRow, kColumn, kPart>(from[kColumn * kFromStep], sum), ...);
  }
  template <size_t kRow, size_t kColumn, TwinPart kPart, typename Floats>
  [[gnu::always_inline]] static void AddColumn(const Floats& x, Floats& sum) {
    constexpr double kFactor = Factor(kRow, kColumn, kPart);
    if constexpr (kFactor != 0) {
      AddProduct<IsFirst(kRow, kColumn, kPart)>(kFactor, x, sum);
    }
  }
};

// By the transposed matrix: twins are now columns, of which one is multiplied
// with the sum of two numbers and one with their difference.
template <const auto& kMatrix>
struct MultiplyByTransposed {
  static constexpr int kFrom = kMatrix.kHeight;
  static constexpr int kTo = kMatrix.kWidth;

  template <int kFromStep, int kToStep, typename Floats>
  [[gnu::always_inline]] static void Multiply(const Floats* from, Floats* to) {
    Floats sums[kFrom];
    JoinTwins<kFromStep>(from, sums, std::make_index_sequence<kFrom>());
    MultiplyColumns<kToStep>(sums, to, std::make_index_sequence<kTo>());
  }

 private:
  // By which the number of row `row` of `sums` is multiplied for `column`.
  static constexpr double Factor(size_t row, size_t column) {
    const size_t twin = kMatrix.TwinOf(row);
    const double own = kMatrix.at[row][column];
    const double other = kMatrix.at[twin][column];
    if (twin == row) return own;
    if (twin > row) return own == other ? own : 0;
    return own == other ? 0 : other;
  }
  static constexpr bool IsFirst(size_t row, size_t column) {
    for (size_t k = 0; k < row; ++k) {
      if (Factor(k, column) != 0) return false;
    }
    return true;
  }

  // The sum in place of the first twin, the difference in place of the second.
  template <int kFromStep, typename Floats, size_t... kRow>
  [[gnu::always_inline]] static void JoinTwins(const Floats* from, Floats* sums,
                                               std::index_sequence<kRow...>) {
    (JoinTwin<kRow, kFromStep>(from, sums[kRow]), ...);
  }
  template <size_t kRow, int kFromStep, typename Floats>
  [[gnu::always_inline]] static void JoinTwin(const Floats* from, Floats& sum) {
    constexpr size_t kTwin = kMatrix.TwinOf(kRow);
    if constexpr (kTwin == kRow) {
      sum = from[kRow * kFromStep];
    } else if constexpr (kTwin > kRow) {
      sum = from[kRow * kFromStep] + from[kTwin * kFromStep];
    } else {
      sum = from[kTwin * kFromStep] - from[kRow * kFromStep];
    }
  }

  template <int kToStep, typename Floats, size_t... kColumn>
  [[gnu::always_inline]] static void MultiplyColumns(
      const Floats* sums, Floats* to, std::index_sequence<kColumn...>) {
    (AddRows<kColumn>(sums, to[kColumn * kToStep],
                      std::make_index_sequence<kFrom>()),
     ...);
  }
  template <size_t kColumn, typename Floats, size_t... kRow>
  [[gnu::always_inline]] static void AddRows(const Floats* sums, Floats& sum,
                                             std::index_sequence<kRow...>) {
    (AddRow<kRow, kColumn>(sums[kRow], sum), ...);
  }
  template <size_t kRow, size_t kColumn, typename Floats>
  [[gnu::always_inline]] static void AddRow(const Floats& x, Floats& sum) {
    constexpr double kFactor = Factor(kRow, kColumn);
    if constexpr (kFactor != 0) {
      AddProduct<IsFirst(kRow, kColumn)>(kFactor, x, sum);
    }
  }
};

// As MultiplyBy<B^T> for 6 points, with fewer products: the rows are those of
// (x^2 + 3/2 x - 1) and (x^2 - 1), without one factor each.
struct SixPointInput {
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

// F(kTile_, kTaps_) in one dimension.
template <int kTile_, int kTaps_>
struct WinogradLine {
  static constexpr int kTile = kTile_;  // pixels of y
  static constexpr int kTaps = kTaps_;  // elements of a window
  static constexpr int kPoints = kTile + kTaps - 1;

  static constexpr auto kA =
      PowersOfPoints<kPoints, kTile>([](size_t) { return 1.0; });
  static constexpr auto kG = PowersOfPoints<kPoints, kTaps>(
      [](size_t i) { return 1 / LagrangeScale<kPoints>(i); });
  static constexpr auto kB = LagrangePolynomials<kPoints>();  // transposed

  using Input = std::conditional_t<kPoints == 6, SixPointInput, MultiplyBy<kB>>;
  using Output = MultiplyByTransposed<kA>;
  using OutputGradient = MultiplyBy<kA>;
  using Filter = MultiplyBy<kG>;
  using FilterGradient = MultiplyByTransposed<kG>;
};

constexpr size_t WinogradPower(int side, int dimensions) {
  return static_cast<size_t>(dimensions == 1 ? side : side * side);
}

// Where the channels of the pixels or points of a line or square lie, row by
// row. Null: read as zeros, or not written.
template <typename Transform, int kDimensions, typename From>
using TransformFrom =
    std::array<const From*, WinogradPower(Transform::kFrom, kDimensions)>;
template <typename Transform, int kDimensions, typename To>
using TransformTo = std::array<To*, WinogradPower(Transform::kTo, kDimensions)>;

// Multiplies a line, or a square from both sides, with the transform's matrix,
// channel by channel: `vectors` vectors of them. (Not inlined: it would be
// compiled once for each of its callers, for minutes.)
template <typename Transform, int kDimensions>
[[gnu::noinline, gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void
TransformVectors(const TransformFrom<Transform, kDimensions, float>& from,
                 const TransformTo<Transform, kDimensions, float>& to,
                 int64_t vectors) {
  using L = Lanes<64>;
  constexpr int kFrom = Transform::kFrom;
  constexpr int kTo = Transform::kTo;
  for (int64_t c = 0; c < vectors * L::kCount; c += L::kCount) {
    typename L::Floats numbers[WinogradPower(kFrom, kDimensions)] = {};
    typename L::Floats result[WinogradPower(kTo, kDimensions)];
#pragma GCC unroll 36
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] != nullptr) L::Load(from[i] + c, L::kCount, numbers[i]);
    }
    if constexpr (kDimensions == 1) {
      Transform::template Multiply<1, 1>(numbers, result);
    } else {
      typename L::Floats columns[kTo * kFrom];
#pragma GCC unroll 6
      for (int column = 0; column < kFrom; ++column) {
        Transform::template Multiply<kFrom, kFrom>(numbers + column,
                                                   columns + column);
      }
#pragma GCC unroll 6
      for (int row = 0; row < kTo; ++row) {
        Transform::template Multiply<1, 1>(columns + row * kFrom,
                                           result + row * kTo);
      }
    }
#pragma GCC unroll 36
    for (size_t i = 0; i < to.size(); ++i) {
      if (to[i] != nullptr) L::Store(result[i], L::kCount, to[i] + c);
    }
  }
}

// Channels that are copied to floats, or from them, at a time.
inline constexpr int64_t kWinogradSlice = 4 * Lanes<64>::kCount;

// Copies `n` channels from `from`, rounded to `Rounded`, and zeros up to a
// whole vector.
template <typename Rounded, typename From>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void LoadSlice(
    const From* from, int64_t n, float* to) {
  using L = Lanes<64>;
  for (int64_t c = 0; c < n; c += L::kCount) {
    typename L::Floats vector = {};
    L::Load(from + c, std::min(L::kCount, n - c), vector);
    if constexpr (!std::is_same_v<Rounded, From>) {
      Rounded rounded[L::kCount];
      L::Store(vector, L::kCount, rounded);
      L::Load(rounded, L::kCount, vector);
    }
    L::Store(vector, L::kCount, to + c);
  }
}

// Copies `n` channels; `from` has whole vectors.
template <typename To>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void StoreSlice(
    const float* from, int64_t n, To* to) {
  using L = Lanes<64>;
  for (int64_t c = 0; c < n; c += L::kCount) {
    typename L::Floats vector;
    L::Load(from + c, L::kCount, vector);
    L::Store(vector, std::min(L::kCount, n - c), to + c);
  }
}

// As TransformVectors, for channels [begin, begin + n), at most a slice, of any
// types.
template <typename Transform, int kDimensions, typename Rounded, typename From,
          typename To>
[[gnu::noinline]] void TransformSlice(
    const TransformFrom<Transform, kDimensions, From>& from,
    const TransformTo<Transform, kDimensions, To>& to, int64_t begin,
    int64_t n) {
  constexpr size_t kFrom = WinogradPower(Transform::kFrom, kDimensions);
  constexpr size_t kTo = WinogradPower(Transform::kTo, kDimensions);
  float read[kFrom * kWinogradSlice];
  float written[kTo * kWinogradSlice];
  TransformFrom<Transform, kDimensions, float> from_read = {};
  TransformTo<Transform, kDimensions, float> to_written = {};
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == nullptr) continue;
    float* slice = read + i * kWinogradSlice;
    LoadSlice<Rounded>(from[i] + begin, n, slice);
    from_read[i] = slice;
  }
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] != nullptr) to_written[i] = written + i * kWinogradSlice;
  }
  constexpr int64_t kLanes = Lanes<64>::kCount;
  TransformVectors<Transform, kDimensions>(from_read, to_written,
                                           (n + kLanes - 1) / kLanes);
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] != nullptr) StoreSlice(to_written[i], n, to[i] + begin);
  }
}

// Transforms all channels. What is read is first rounded to `Rounded`.
template <typename Transform, int kDimensions, typename From, typename To,
          typename Rounded = From>
void TransformChannels(const TransformFrom<Transform, kDimensions, From>& from,
                       const TransformTo<Transform, kDimensions, To>& to,
                       int64_t channels) {
  int64_t c = 0;
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, float> &&
                std::is_same_v<Rounded, float>) {
    const int64_t vectors = channels / Lanes<64>::kCount;
    TransformVectors<Transform, kDimensions>(from, to, vectors);
    c = vectors * Lanes<64>::kCount;
  }
  for (; c < channels; c += kWinogradSlice) {
    TransformSlice<Transform, kDimensions, Rounded>(
        from, to, c, std::min(kWinogradSlice, channels - c));
  }
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_CONV_WINOGRAD_TRANSFORM_H_
