// MicroBatchPlan: which rows each update of a training reads, in how many
// micro-batches, and what each of them weighs. A pure function of a few
// numbers: it has no data and runs nothing, so a dry run prints what a training
// takes.
//
//   10 rows, batches of 4, groups of 2, tail partial: 2 updates an epoch
//
//   rows        0 1 2 3 | 4 5 6 7 | 8 9
//   update 0    micro 0 | micro 1           weights 1/2, 1/2
//   update 1                      | micro 0   weight 1
//
// A run of several ranks has groups of world_size times as many micro-batches;
// each rank takes the same number of them, one after the other. So the update
// of W ranks reads the rows that one rank with W times the micro-batches reads.
// A rank may have several devices, its executor group: each of its
// micro-batches is divided among them. Device d of rank r is worker
// r * devices() + d; with one device each, ranks are workers.
//
// Sources: the loops of Apache SystemML's Keras2DML and Caffe2DML
// (apache/systemds, commit b657820248), with epochs, weights and tails made
// exact.
#ifndef SPILLWAY_TRAINING_LOOP_MICRO_BATCHES_H_
#define SPILLWAY_TRAINING_LOOP_MICRO_BATCHES_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "training/loop/split_batch.h"

namespace spillway {

enum class TrainAlgorithm : uint8_t {
  kMinibatch,        // an update for each batch
  kBatch,            // an update for all rows
  kLoopedMinibatch,  // an update for `parallel_batches` batches, one by one
  // The same with a gradient for each batch, then added in the order of the
  // batches.
  kAllreduceParallelBatches,
  kAllreduce,  // an update for each batch, row by row
};
std::string_view TrainAlgorithmName(TrainAlgorithm algorithm);

// What becomes of the rows at the end of an epoch that do not fill a group.
enum class Tail : uint8_t {
  kPartial,  // they are a group with fewer micro-batches, the last one shorter
  kDrop,     // they are left out until the rows are shuffled again
  kWrap,     // they are left out, and the group begins at row 0 (SystemML's
             // grouped algorithms)
  kDrift,    // a short batch, after which the next one begins at a row that
             // depends on how many were read so far (SystemML's minibatch)
  kPad,      // the group is filled up with the first rows, after the last one
  kCycle,    // the same, and the next group begins behind these
};
std::string_view TailName(Tail tail);

// Rows [begin, end) of the epoch's order, in one forward and backward pass.
// With Tail::kPad and kCycle they may go on after the last row, with the first
// one.
struct MicroBatch {
  int64_t begin = 0;
  int64_t end = 0;
  // Factor on its gradient before that is added to the update's: its part of
  // the update's rows, for losses that are means over rows. 0: its rows are
  // another one's (MicroBatchPlan::UpdateOf).
  double weight = 1;

  int64_t rows() const { return end - begin; }
  friend bool operator==(const MicroBatch&, const MicroBatch&) = default;
};

// What the MicroBatchPlan of an algorithm is made from.
struct MicroBatchSpec {
  TrainAlgorithm algorithm = TrainAlgorithm::kMinibatch;
  int64_t rows = 0;        // of the training data
  int64_t batch_size = 1;  // rows of a micro-batch, at most; ignored by kBatch
  int64_t parallel_batches = 1;  // micro-batches of a group, at most
  Tail tail = Tail::kPartial;
  int world_size = 1;  // ranks
  // Of the devices of each rank (SplitBatch); empty: it has one. A batch that
  // is shorter than batch_size is divided by the balanced rule.
  std::vector<double> loads = {};
  SplitRule split = SplitRule::kBalanced;
  // False: every weight is 1, so that an update has the sum of the gradients.
  bool weighted = true;
};

// The length of a training; exactly one is set.
struct TrainingLength {
  std::optional<int64_t> epochs = {};
  std::optional<int64_t> updates = {};
  // SystemML's max_iter: the update that it ends in is the last one.
  std::optional<int64_t> micro_batches = {};
};

// Whether a count that goes from `before` to `after` reaches or passes a
// multiple of `every`; never if that is 0. For what happens at intervals of
// micro-batches, of which an update may have several.
bool Crosses(int64_t every, int64_t before, int64_t after);

class MicroBatchPlan {
 public:
  // Errors: INVALID_ARGUMENT naming the field, with the largest value that is
  // possible, for counts below 1, a group that is larger than the data (with
  // tails other than kPartial), groups in an algorithm that has none, and
  // kDrift for an algorithm with groups or several workers; of SplitBatch, for
  // several devices.
  static absl::StatusOr<MicroBatchPlan> Create(const MicroBatchSpec& spec);

  // Of update `update`, from 0, before they are divided among devices, those of
  // all ranks. Cost: O(micro-batches).
  std::vector<MicroBatch> Batches(int64_t update) const;

  // The micro-batches of all workers, in the order in which their gradients are
  // added: worker by worker. The same as Batches if each rank has one device.
  std::vector<MicroBatch> Update(int64_t update) const;

  // Those of one worker, at most per_rank(). A worker for which none is left,
  // at the end of an epoch, has rows of others with the weight 0, since it
  // takes part in the communication.
  std::vector<MicroBatch> UpdateOf(int64_t update, int worker) const;

  // The place in Batches(update) of a micro-batch of Update(update).
  int64_t NumberOf(int64_t update, const MicroBatch& micro) const;

  // The number of epochs that are done before the update; a trainer shuffles
  // the rows once an epoch. For kWrap and kCycle, rows read before / all rows.
  int64_t EpochOf(int64_t update) const;

  // nullopt: epochs end within updates (kWrap, kCycle).
  std::optional<int64_t> UpdatesPerEpoch() const;

  // Errors: INVALID_ARGUMENT unless one field is set, to 1 or more.
  absl::StatusOr<int64_t> Updates(const TrainingLength& length) const;

  // The numbers of rows that a worker's micro-batches have, the largest first:
  // for each of them, it needs a program.
  std::vector<int64_t> Sizes(int worker = 0) const;

  // Rows of a micro-batch before it is divided, at most.
  int64_t micro_rows() const { return micro_rows_; }
  // Micro-batches of an update, at most.
  int64_t group_size() const { return group_size_; }
  // Those of one rank.
  int64_t per_rank() const { return group_size_ / spec_.world_size; }
  int devices() const {
    return std::max(1, static_cast<int>(spec_.loads.size()));
  }
  int workers() const { return spec_.world_size * devices(); }
  int rank_of(int worker) const { return worker / devices(); }
  int device_of(int worker) const { return worker % devices(); }
  const MicroBatchSpec& spec() const { return spec_; }

 private:
  explicit MicroBatchPlan(const MicroBatchSpec& spec);

  // Rows of each of several devices, of a micro-batch of `rows`.
  std::vector<int64_t> Split(int64_t rows) const;
  // The rows of a device of this micro-batch; none: no rows.
  MicroBatch SliceOf(const MicroBatch& micro, int device) const;
  // What a worker has of all micro-batches of an update; may be nothing.
  std::vector<MicroBatch> SlicesOf(const std::vector<MicroBatch>& batches,
                                   int worker) const;

  // The numbers of rows that micro-batches have before they are divided.
  std::vector<int64_t> BatchSizes() const;

  // The first row of the update's group, and the row after its last one.
  std::pair<int64_t, int64_t> Rows(int64_t update) const;

  MicroBatchSpec spec_;
  int64_t micro_rows_ = 0;  // of a micro-batch, at most
  int64_t group_size_ = 0;
  int64_t group_rows_ = 0;  // of an update, at most
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_LOOP_MICRO_BATCHES_H_
