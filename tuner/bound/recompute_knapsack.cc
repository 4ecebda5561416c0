#include "tuner/bound/recompute_knapsack.h"

#include <algorithm>
#include <limits>

namespace spillway {
namespace {

// Exceeds the error of the few operations on doubles that make a number.
constexpr double kRounding = 1e-12;

}  // namespace

bool IsCheaper(const RemakeItem& a, const RemakeItem& b) {
  return static_cast<double>(a.ns) * static_cast<double>(b.bytes) <
         static_cast<double>(b.ns) * static_cast<double>(a.bytes);
}

RecomputeKnapsack::RecomputeKnapsack(std::span<const RemakeItem> items,
                                     int64_t most_ns) {
  bytes_.reserve(items.size() + 1);
  ns_.reserve(items.size() + 1);
  for (const RemakeItem& item : items) {
    if (item.ns > most_ns) continue;
    bytes_.push_back(bytes_.back() + item.bytes);
    ns_.push_back(ns_.back() + item.ns);
  }
}

double RecomputeKnapsack::LeastNs(int64_t bytes) const {
  if (bytes <= 0) return 0;
  if (bytes > total_bytes()) return std::numeric_limits<double>::infinity();
  const auto i = static_cast<size_t>(std::ranges::lower_bound(bytes_, bytes) -
                                     bytes_.begin());
  const double part = static_cast<double>(bytes - bytes_[i - 1]) /
                      static_cast<double>(bytes_[i] - bytes_[i - 1]);
  const double ns = static_cast<double>(ns_[i - 1]) +
                    part * static_cast<double>(ns_[i] - ns_[i - 1]);
  return ns * (1 - kRounding);
}

double RecomputeKnapsack::BytesPerNs(size_t i) const {
  return static_cast<double>(bytes_[i] - bytes_[i - 1]) /
         static_cast<double>(ns_[i] - ns_[i - 1]);
}

int64_t RecomputeKnapsack::MostBytes(int64_t ns) const {
  // The first sum above `ns`. Its last item is either left out or taken whole.
  const auto i =
      static_cast<size_t>(std::ranges::upper_bound(ns_, ns) - ns_.begin());
  if (i == ns_.size()) return total_bytes();
  double more = 0;
  if (i + 1 < ns_.size()) {  // left out: a part of the next one
    more = static_cast<double>(ns - ns_[i - 1]) * BytesPerNs(i + 1);
  }
  if (ns_[i - 1] > 0) {  // taken: without a part of the one before
    const auto item = static_cast<double>(bytes_[i] - bytes_[i - 1]);
    const auto missing_ns = static_cast<double>(ns_[i] - ns);
    more = std::max(more, item - missing_ns * BytesPerNs(i - 1));
  }
  return bytes_[i - 1] + static_cast<int64_t>(more * (1 + kRounding));
}

int64_t RecomputeKnapsack::BytesUpToPrice(double ns_per_byte) const {
  size_t least = 0;
  for (size_t most = bytes_.size() - 1; least < most;) {
    const size_t i = (least + most + 1) / 2;
    const double slope = static_cast<double>(ns_[i] - ns_[i - 1]) /
                         static_cast<double>(bytes_[i] - bytes_[i - 1]);
    if (slope < ns_per_byte) {
      least = i;
    } else {
      most = i - 1;
    }
  }
  return bytes_[least];
}

}  // namespace spillway
