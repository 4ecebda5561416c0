#include "training/loop/micro_batch_reader.h"

#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "training/loop/row_window.h"

namespace spillway {

std::string DescribeRows(const MicroBatchPlan& plan,
                         std::optional<uint64_t> shuffle_seed) {
  const MicroBatchSpec& spec = plan.spec();
  return fmt::format(
      "{} rows in batches of {}, {} an update, tail {}, {}", spec.rows,
      plan.micro_rows(), plan.group_size(), TailName(spec.tail),
      shuffle_seed ? fmt::format("shuffled with seed {}", *shuffle_seed)
                   : "not shuffled");
}

MicroBatchReader::MicroBatchReader(const Dataset& data,
                                   const MicroBatchPlan& plan,
                                   const MicroBatchRange& range)
    : data_(data),
      plan_(plan),
      range_(range),
      update_(range.first),
      prefetched_([this] { return Read(); }) {}

absl::StatusOr<const Dataset*> MicroBatchReader::RowsOf(int64_t update) {
  if (!range_.shuffle_seed) return &data_;
  const int64_t epoch = plan_.EpochOf(update);
  if (epoch != epoch_) {
    shuffled_.emplace(
        data_, ShuffleOptions{.seed = *range_.shuffle_seed, .epoch = epoch});
    epoch_ = epoch;
  }
  SPILLWAY_RETURN_IF_ERROR(shuffled_->status());
  return &*shuffled_;
}

absl::StatusOr<Batch> MicroBatchReader::Read() {
  if (left_.empty()) {
    if (update_ >= range_.last) return Batch();
    left_ = plan_.UpdateOf(update_++, range_.rank);
    std::ranges::reverse(left_);
  }
  const MicroBatch micro = left_.back();
  left_.pop_back();
  SPILLWAY_ASSIGN_OR_RETURN(const Dataset* rows, RowsOf(update_ - 1));
  return RowWindow(*rows, micro.begin, micro.end, plan_.EpochOf(update_ - 1))
      .Get(0);
}

}  // namespace spillway
