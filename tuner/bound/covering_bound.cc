#include "tuner/bound/covering_bound.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace spillway {
namespace {

constexpr int kMostSweeps = 8;
// A sweep that gains less than this part of the bound is the last one.
constexpr double kLeastGain = 1e-5;
// Exceeds the error of a sum of some thousand doubles, relative to its terms.
constexpr double kCoverRounding = 1e-11;

class DualAscent {
 public:
  DualAscent(std::span<const RemakeItem> items, std::span<const CoverRow> rows)
      : items_(items),
        rows_(rows),
        prices_(rows.size(), 0),
        paid_ns_(items.size(), 0),
        order_(rows.size()) {
    for (size_t k = 0; k < rows.size(); ++k) order_[k] = k;
    std::ranges::stable_sort(order_, [&](size_t a, size_t b) {
      return rows[a].missing_bytes > rows[b].missing_bytes;
    });
  }

  Covering Run(int64_t enough_ns) {
    Covering best;
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      for (const size_t k : order_) {
        if (!SetPrice(k)) return {.is_possible = false};
      }
      const double before = value_;
      const Covering now = Value();
      if (now.ns > best.ns) best = now;
      if (best.ns > enough_ns) break;
      if (sweep > 0 && value_ - before <= kLeastGain * value_) break;
    }
    return best;
  }

 private:
  double Bytes(int32_t item, size_t k) const {
    return static_cast<double>(std::min(items_[static_cast<size_t>(item)].bytes,
                                        rows_[k].missing_bytes));
  }

  // Sets the price of row k to the best one, given all others. False: its items
  // do not cover the row.
  bool SetPrice(size_t k) {
    const double old_price = prices_[k];
    breaks_.clear();
    for (const int32_t item : rows_[k].items) {
      const auto i = static_cast<size_t>(item);
      const double bytes = Bytes(item, k);
      const double others_ns = paid_ns_[i] - bytes * old_price;
      breaks_.emplace_back(
          (static_cast<double>(items_[i].ns) - others_ns) / bytes, bytes);
    }
    std::ranges::sort(breaks_);
    auto missing = static_cast<double>(rows_[k].missing_bytes);
    for (const auto& [price, bytes] : breaks_) {
      missing -= bytes;
      if (missing > 0) continue;
      ChangePrice(k, std::max(0.0, price));
      return true;
    }
    return false;
  }

  void ChangePrice(size_t k, double price) {
    for (const int32_t item : rows_[k].items) {
      paid_ns_[static_cast<size_t>(item)] +=
          Bytes(item, k) * (price - prices_[k]);
    }
    prices_[k] = price;
  }

  // The bound from the current prices. Sums up again what each item pays, since
  // changes have accumulated rounding errors.
  Covering Value() {
    std::ranges::fill(paid_ns_, 0);
    Covering result;
    double income_ns = 0;
    double most_ns = 0;
    for (size_t k = 0; k < rows_.size(); ++k) {
      const double row_ns =
          prices_[k] * static_cast<double>(rows_[k].missing_bytes);
      income_ns += row_ns;
      if (row_ns > most_ns) {
        most_ns = row_ns;
        result.row = static_cast<int32_t>(k);
      }
      for (const int32_t item : rows_[k].items) {
        paid_ns_[static_cast<size_t>(item)] += Bytes(item, k) * prices_[k];
      }
    }
    double refund_ns = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      refund_ns +=
          std::max(0.0, paid_ns_[i] - static_cast<double>(items_[i].ns));
    }
    value_ = income_ns - refund_ns;
    // Times are integers, so the bound is rounded up.
    result.ns = static_cast<int64_t>(
        std::ceil(std::max(0.0, value_ - kCoverRounding * income_ns - 1e-6)));
    return result;
  }

  const std::span<const RemakeItem> items_;
  const std::span<const CoverRow> rows_;
  std::vector<double> prices_;   // by row: nanoseconds per byte
  std::vector<double> paid_ns_;  // by item: sum over its rows of bytes * price
  std::vector<size_t> order_;    // of the rows: by falling missing bytes
  std::vector<std::pair<double, double>> breaks_;  // price, bytes
  double value_ = 0;
};

}  // namespace

Covering CoveringBound(std::span<const RemakeItem> items,
                       std::span<const CoverRow> rows, int64_t enough_ns) {
  return DualAscent(items, rows).Run(enough_ns);
}

}  // namespace spillway
