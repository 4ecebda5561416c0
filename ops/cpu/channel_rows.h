// A tensor with channels last, as rows of channels, split into chunks of rows
// that are summed separately and then joined in order. The split depends on the
// sizes only, so sums are bitwise identical for any number of threads.
#ifndef SPILLWAY_OPS_CPU_CHANNEL_ROWS_H_
#define SPILLWAY_OPS_CPU_CHANNEL_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/interval.h"
#include "graph/shape.h"

namespace spillway {

struct ChannelRows {
  int64_t rows = 1;
  int64_t channels = 1;

  explicit ChannelRows(const Shape& x)
      : rows(x.num_elements() / x.dim(-1)), channels(x.dim(-1)) {}

  // Few enough rows that a float sum is precise and the second pass finds them
  // in a cache; enough that the chunks' sums are small compared to x.
  int64_t chunk_rows() const {
    const int64_t cached = std::clamp<int64_t>(16384 / channels, 128, 512);
    return std::min(cached, std::max<int64_t>(rows / 64, 8));
  }
  int64_t num_chunks() const {
    return (rows + chunk_rows() - 1) / chunk_rows();
  }
  // Rows of a chunk.
  Interval chunk(int64_t i) const {
    return {i * chunk_rows(), std::min((i + 1) * chunk_rows(), rows)};
  }
  // Chunks that are worth a separate thread.
  int64_t grain() const { return 16384 / (chunk_rows() * channels) + 1; }
};

// Rows that are summed together, so that sums in memory are read and written
// once for all of them.
inline constexpr int kRowsAtOnce = 8;

template <int kRows>
using RowCount = std::integral_constant<int, kRows>;

// Calls fn(RowCount<n>(), row) for n rows from `row` on: kRowsAtOnce at a time,
// and the last ones one by one.
template <typename Fn>
void ForEachRows(const Interval& rows, const Fn& fn) {
  int64_t row = rows.begin;
  for (; row + kRowsAtOnce <= rows.end; row += kRowsAtOnce) {
    fn(RowCount<kRowsAtOnce>(), row);
  }
  for (; row < rows.end; ++row) fn(RowCount<1>(), row);
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_CHANNEL_ROWS_H_
