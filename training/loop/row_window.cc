#include "training/loop/row_window.h"

#include <algorithm>
#include <numeric>

#include "base/status_macros.h"
#include "training/data/read_samples.h"

namespace spillway {

RowWindow::RowWindow(const Dataset& base, int64_t begin, int64_t end,
                     int64_t epoch)
    : base_(base),
      begin_(begin),
      end_(end),
      epoch_(epoch),
      fields_(FieldsOfRows(base, end - begin)) {}

absl::Status RowWindow::Read(int64_t index,
                             std::span<std::byte* const> buffers) const {
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  std::vector<int64_t> rows(static_cast<size_t>(end_ - begin_));
  std::iota(rows.begin(), rows.end(), begin_);
  for (int64_t& row : rows) row %= std::max<int64_t>(1, base_.size());
  return ReadSamples(base_, rows, buffers, {.epoch = epoch_});
}

}  // namespace spillway
