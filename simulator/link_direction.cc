#include "simulator/link_direction.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace spillway {
namespace {

// Of 0 or more nanoseconds, half of one upwards. The tuner asks for millions of
// times; std::llround would take as long as the rest of CopyNs.
int64_t RoundedNs(double ns) { return static_cast<int64_t>(ns + 0.5); }

}  // namespace

void SummarizeTable(LinkDirection& direction) {
  SPILLWAY_CHECK(!direction.by_size.empty());
  const CopyTime& least = direction.by_size.front();
  const CopyTime& most = direction.by_size.back();
  const double bytes = static_cast<double>(most.bytes) * 1e9;
  direction.latency_ns = least.alone_ns;
  direction.bytes_per_second = bytes / static_cast<double>(most.alone_ns);
  direction.shared_bytes_per_second =
      bytes / static_cast<double>(most.shared_ns);
}

double CopyNsBySize(const std::vector<CopyTime>& table, int64_t bytes,
                    int64_t CopyTime::*time) {
  SPILLWAY_CHECK(!table.empty());
  const auto ns = [&](const CopyTime& point) {
    return static_cast<double>(point.*time);
  };
  const auto next =
      std::ranges::lower_bound(table, bytes, {}, &CopyTime::bytes);
  if (next == table.begin()) return ns(*next);
  const CopyTime& before = *(next - 1);
  if (next == table.end()) {
    return ns(before) * static_cast<double>(bytes) /
           static_cast<double>(before.bytes);
  }
  const double part = static_cast<double>(bytes - before.bytes) /
                      static_cast<double>(next->bytes - before.bytes);
  return ns(before) + part * (ns(*next) - ns(before));
}

int64_t CopyNs(const LinkDirection& direction, int64_t bytes) {
  const double ns =
      direction.by_size.empty()
          ? static_cast<double>(direction.latency_ns) +
                static_cast<double>(bytes) * 1e9 / direction.bytes_per_second
          : CopyNsBySize(direction.by_size, bytes, &CopyTime::alone_ns);
  return RoundedNs(ns);
}

int64_t SharedCopyNs(const LinkDirection& direction, int64_t bytes) {
  const double ns =
      direction.by_size.empty()
          ? static_cast<double>(direction.latency_ns) +
                static_cast<double>(bytes) * 1e9 /
                    direction.shared_bytes_per_second
          : CopyNsBySize(direction.by_size, bytes, &CopyTime::shared_ns);
  return std::max(RoundedNs(ns), CopyNs(direction, bytes));
}

double BestRate(const LinkDirection& direction) {
  if (direction.by_size.empty()) {
    return std::max(direction.bytes_per_second,
                    direction.shared_bytes_per_second) *
           1e-9;
  }
  double best = 0;
  for (const CopyTime& time : direction.by_size) {
    const int64_t ns = std::min(time.alone_ns, time.shared_ns);
    best = std::max(best,
                    static_cast<double>(time.bytes) / static_cast<double>(ns));
  }
  return best;
}

LinkDirection LimitRate(const LinkDirection& direction, double bytes_per_second,
                        int64_t pause_ns) {
  LinkDirection limited = direction;
  limited.latency_ns = std::max(direction.latency_ns, pause_ns);
  limited.bytes_per_second =
      std::min(direction.bytes_per_second, bytes_per_second);
  limited.shared_bytes_per_second =
      std::min(direction.shared_bytes_per_second, bytes_per_second);
  for (CopyTime& point : limited.by_size) {
    const double bytes = static_cast<double>(point.bytes);
    const int64_t least_ns =
        std::llround(bytes / bytes_per_second * 1e9) + pause_ns;
    point.alone_ns = std::max(point.alone_ns, least_ns);
    point.shared_ns = std::max(point.shared_ns, least_ns);
  }
  return limited;
}

}  // namespace spillway
