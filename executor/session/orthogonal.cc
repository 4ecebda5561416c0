#include "executor/session/orthogonal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/random.h"

namespace spillway {
namespace {

// Reflections that are applied to a row while it is in the cache.
constexpr int64_t kPanel = 16;
// Multiplications that are worth a separate thread.
constexpr int64_t kThreadWork = int64_t{1} << 18;

constexpr size_t kLanes = 8;

double Dot(const double* a, const double* b, int64_t n) {
  std::array<double, kLanes> sums = {};
  constexpr auto kStride = static_cast<int64_t>(kLanes);
  int64_t i = 0;
  for (; i + kStride <= n; i += kStride) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const int64_t at = i + static_cast<int64_t>(lane);
      sums[lane] += a[at] * b[at];
    }
  }
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
         ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// The reflection x - factor (v x) v at a hyperplane; v is zero before column
// `first`.
struct Reflection {
  const double* v = nullptr;  // a whole row
  int64_t first = 0;
  double factor = 0;

  void Apply(double* row, int64_t length) const {
    const double along = factor * Dot(v + first, row + first, length - first);
    for (int64_t i = first; i < length; ++i) row[i] -= along * v[i];
  }
};

// Householder's QR of the transposed matrix, whose columns are our rows:
//
//   Factor   row k becomes the v that turns it, as the reflections before left
//            it, to axis k
//   Expand   row k becomes what the reflections, the last one first, make of
//            axis k
//
// Both do a panel of reflections at a time: every row is read once per panel,
// and rows are independent of each other.
class Rows {
 public:
  Rows(const OrthonormalSpec& spec, HostThreads* threads)
      : count_(spec.count),
        length_(spec.length),
        threads_(threads),
        rows_(static_cast<size_t>(count_ * length_)),
        factors_(static_cast<size_t>(count_)),
        signs_(static_cast<size_t>(count_)) {
    const auto draw = [&spec](uint64_t i) {
      if (spec.from_normal) return NormalAt(spec.key, i);
      return 2.0 * UniformFloat(Philox4x32(spec.key, i / 4)[i % 4]) - 1;
    };
    RunInParts(threads_, count_ * length_, {.least_items = kThreadWork},
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   rows_[static_cast<size_t>(i)] =
                       draw(static_cast<uint64_t>(i));
                 }
               });
  }

  void Factor() {
    for (int64_t begin = 0; begin < count_; begin += kPanel) {
      const int64_t end = std::min(begin + kPanel, count_);
      for (int64_t k = begin; k < end; ++k) {
        for (int64_t i = begin; i < k; ++i)
          ReflectionOf(i).Apply(row(k), length_);
        MakeReflection(k);
      }
      ForRows(end, [&](int64_t j) {
        for (int64_t i = begin; i < end; ++i)
          ReflectionOf(i).Apply(row(j), length_);
      });
    }
  }

  void Expand() {
    std::vector<double> panel;
    for (int64_t begin = (count_ - 1) / kPanel * kPanel; begin >= 0;
         begin -= kPanel) {
      const int64_t end = std::min(begin + kPanel, count_);
      panel.assign(row(begin), row(end));
      std::fill(row(begin), row(end), 0.0);
      ForRows(begin, [&](int64_t j) {
        if (j < end) row(j)[j] = signs_[static_cast<size_t>(j)];
        for (int64_t i = std::min(j, end - 1); i >= begin; --i) {
          Reflection reflection = ReflectionOf(i);
          reflection.v = panel.data() + (i - begin) * length_;
          reflection.Apply(row(j), length_);
        }
      });
    }
  }

  std::vector<double> Take() && { return std::move(rows_); }

 private:
  double* row(int64_t k) { return rows_.data() + k * length_; }

  Reflection ReflectionOf(int64_t k) {
    return {
        .v = row(k), .first = k, .factor = factors_[static_cast<size_t>(k)]};
  }

  // Row k, from column k on: x becomes v = x + sign(x0) |x| e0, which turns x
  // to -sign(x0) |x| e0. The row of the basis has that sign, as if Gram and
  // Schmidt's method had made it. If x is zero, the axis itself will do.
  void MakeReflection(int64_t k) {
    double* const x = row(k) + k;
    const double norm = std::sqrt(Dot(x, x, length_ - k));
    const double sign = x[0] < 0 ? 1 : -1;
    signs_[static_cast<size_t>(k)] = sign;
    if (norm == 0) return;
    factors_[static_cast<size_t>(k)] = 1 / (norm * (norm + std::abs(x[0])));
    x[0] -= sign * norm;
  }

  // work(j) for the rows from `first` on, in any order.
  template <typename Work>
  void ForRows(int64_t first, const Work& work) {
    RunInParts(threads_, count_ - first,
               {.least_items = 1 + kThreadWork / (kPanel * length_)},
               [&](int64_t begin, int64_t end) {
                 for (int64_t j = begin; j < end; ++j) work(first + j);
               });
  }

  const int64_t count_;
  const int64_t length_;
  HostThreads* const threads_;
  std::vector<double> rows_;
  std::vector<double> factors_;  // of the reflections
  std::vector<double> signs_;    // of the basis
};

}  // namespace

std::vector<double> OrthonormalRows(const OrthonormalSpec& spec,
                                    HostThreads* threads) {
  if (spec.count <= 0) return {};
  Rows rows(spec, threads);
  rows.Factor();
  rows.Expand();
  return std::move(rows).Take();
}

}  // namespace spillway
