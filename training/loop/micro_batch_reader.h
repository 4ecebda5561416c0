// The rows of a training, micro-batch by micro-batch, read ahead of the step.
#ifndef SPILLWAY_TRAINING_LOOP_MICRO_BATCH_READER_H_
#define SPILLWAY_TRAINING_LOOP_MICRO_BATCH_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "training/data/dataset.h"
#include "training/data/prefetched.h"
#include "training/data/shuffled.h"
#include "training/loop/micro_batches.h"

namespace spillway {

// Updates [first, last) of `plan`, the micro-batches of one rank.
struct MicroBatchRange {
  int64_t first = 0;
  int64_t last = 0;
  int rank = 0;
  // Of the rows' order, one for each epoch; nullopt: that of the data.
  std::optional<uint64_t> shuffle_seed = {};
};

// The order of the rows that is read, in words: equal for equal orders.
std::string DescribeRows(const MicroBatchPlan& plan,
                         std::optional<uint64_t> shuffle_seed);

// Threads: one caller; the data is read on another thread. Data and plan are
// borrowed.
class MicroBatchReader {
 public:
  MicroBatchReader(const Dataset& data, const MicroBatchPlan& plan,
                   const MicroBatchRange& range);

  // The rows of the next micro-batch, owned by the caller; an empty batch after
  // the last one. Errors: as Dataset::Get; after an error, Next must not be
  // called again.
  absl::StatusOr<Batch> Next() { return prefetched_.Next(); }

 private:
  // On the reader's thread.
  absl::StatusOr<Batch> Read();
  absl::StatusOr<const Dataset*> RowsOf(int64_t update);

  const Dataset& data_;
  const MicroBatchPlan& plan_;
  const MicroBatchRange range_;
  int64_t update_ = 0;            // the next one
  std::vector<MicroBatch> left_;  // of the update before it, the last first
  int64_t epoch_ = -1;            // that `shuffled_` is for
  std::optional<Shuffled> shuffled_;
  Prefetched prefetched_;  // last: its thread uses all of the above
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_LOOP_MICRO_BATCH_READER_H_
