// Flags for the loop of a training: which rows an update reads, how long the
// training is, and what happens at intervals.
#ifndef SPILLWAY_TOOLS_SPILLWAY_FLAGS_LOOP_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_FLAGS_LOOP_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tools/spillway/flags/flags.h"
#include "training/loop/micro_batches.h"

namespace spillway {

// A count of 0 means that the flag is not given.
struct LoopFlags {
  std::string train_algo = "minibatch";
  int64_t parallel_batches = 0;
  bool weight_parallel_batches = true;
  std::string tail = "partial";
  std::string shuffle = "epoch";
  int64_t num_epochs = 0;
  int64_t num_steps = 0;  // updates
  int64_t max_iter = 0;   // micro-batches
  bool fused_update = true;
  bool check_finite = false;

  std::string test_algo = "minibatch";
  int64_t test_iter = 0;  // batches of the validation set
  // In micro-batches:
  int64_t test_interval = 500;
  int64_t top_k = 0;
  int64_t display = 0;
  int64_t snapshot = 0;
  std::string snapshot_prefix = {};

  bool dry_run = false;

  bool has_groups() const;
};
void AddLoopFlags(FlagSet& set, LoopFlags& flags);

// What the flags mean for `rows` rows, of the training data without the
// validation set, and one rank.
MicroBatchSpec RowsOf(const LoopFlags& flags, int64_t rows, int64_t batch_size);

// Errors: INVALID_ARGUMENT that begins with the flag.
absl::StatusOr<MicroBatchPlan> PlanOf(const MicroBatchSpec& rows);

// One epoch unless a flag says otherwise.
TrainingLength LengthOf(const LoopFlags& flags);

// Rows of the validation set, the first ones of `rows`. Errors:
// INVALID_ARGUMENT naming --test_iter for a set of more than 30 % of the rows;
// says which is the largest.
absl::StatusOr<int64_t> ValidationRows(const LoopFlags& flags, int64_t rows,
                                       int64_t batch_size);

// Rows of a step of the evaluation of `rows` rows, as --test_algo says.
int64_t EvaluationBatch(const LoopFlags& flags, int64_t batch_size,
                        int64_t rows);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_FLAGS_LOOP_FLAGS_H_
