#include "training/loop/split_batch.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>

#include "base/counted.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

absl::Status CheckLoads(int64_t rows, std::span<const double> loads) {
  if (loads.empty()) return InvalidArgument("loads: there is no device");
  for (size_t i = 0; i < loads.size(); ++i) {
    if (loads[i] > 0 && std::isfinite(loads[i])) continue;
    return InvalidArgument(fmt::format(
        "loads: that of device {} is {}; it must be positive and finite (leave "
        "a device without work out)",
        i, loads[i]));
  }
  if (rows >= static_cast<int64_t>(loads.size())) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("a batch of {} for {}: each needs a row at least; take fewer "
                  "devices or a larger batch",
                  Counted(rows, "row"), Counted(loads.size(), "device")));
}

absl::StatusOr<std::vector<int64_t>> SplitCompat(
    int64_t rows, std::span<const double> loads) {
  float total = 0;
  for (const double load : loads) total += static_cast<float>(load);
  std::vector<int64_t> sizes;
  for (const double load : loads) {
    const float exact =
        static_cast<float>(load) * static_cast<float>(rows) / total;
    sizes.push_back(static_cast<int64_t>(std::floor(exact + 0.5F)));
  }
  const int64_t sum = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (sum < rows) sizes.back() += rows - sum;
  int64_t end = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = std::min(sizes[i], rows - end);
    end += sizes[i];
    if (sizes[i] > 0) continue;
    return InvalidArgument(
        fmt::format("a batch of {} for {}, rounded up for each, leaves no row "
                    "for device {}; the balanced rule does",
                    Counted(rows, "row"), Counted(loads.size(), "device"), i));
  }
  return sizes;
}

}  // namespace

std::vector<int64_t> SplitShortBatch(int64_t rows,
                                     std::span<const double> loads) {
  const double total = std::accumulate(loads.begin(), loads.end(), 0.0);
  std::vector<int64_t> sizes;
  std::vector<double> remainders;
  int64_t left = rows;
  for (const double load : loads) {
    const double exact = static_cast<double>(rows) * (load / total);
    sizes.push_back(static_cast<int64_t>(exact));
    remainders.push_back(exact - std::floor(exact));
    left -= sizes.back();
  }
  std::vector<size_t> order(loads.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](size_t i) { return remainders[i]; });
  for (const size_t i : order) {
    if (left-- <= 0) break;
    ++sizes[i];
  }
  return sizes;
}

absl::StatusOr<std::vector<int64_t>> SplitBatch(int64_t rows,
                                                std::span<const double> loads,
                                                SplitRule rule) {
  SPILLWAY_RETURN_IF_ERROR(CheckLoads(rows, loads));
  if (rule == SplitRule::kCompat) return SplitCompat(rows, loads);
  std::vector<int64_t> sizes = SplitShortBatch(rows, loads);
  for (int64_t& size : sizes) {
    if (size > 0) continue;
    --*std::ranges::max_element(sizes);
    ++size;
  }
  return sizes;
}

}  // namespace spillway
