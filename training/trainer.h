// The training loop: epochs over a dataset, then a look at the test set.
//
// Program 0 of the session is the training graph, program 1 (only with test
// data) the evaluation graph of the same network, at its own batch size. The
// next batch is put together while a step runs.
#ifndef SPILLWAY_TRAINING_TRAINER_H_
#define SPILLWAY_TRAINING_TRAINER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/trace/timeline.h"
#include "executor/session.h"
#include "training/data/dataset.h"
#include "training/lr_schedule.h"

namespace spillway {

// Values of the training graph.
struct TrainingProgram {
  int64_t batch_size = 0;
  ValueId images = {};  // fed
  ValueId labels = {};  // fed
  // Fed, float32 scalar; invalid: the graph has its own.
  ValueId learning_rate = {};
  ValueId loss = {};      // fetched, float32 scalar
  ValueId accuracy = {};  // fetched, float32 scalar
};

// Values of the evaluation graph.
struct EvaluationProgram {
  int64_t batch_size = 0;
  ValueId images = {};   // fed
  ValueId labels = {};   // fed
  ValueId correct = {};  // fetched, bool [batch_size]
};

struct EpochResult {
  int64_t epoch = 0;         // from 0
  double loss = 0;           // mean over the epoch's steps, as they went
  double accuracy = 0;       // the same
  double test_accuracy = 0;  // after the epoch, over every test sample
  double seconds = 0;        // of the epoch's training, without the test
};

struct StepProgress {
  int64_t epoch = 0;
  int64_t step = 0;  // in this epoch, from 0
  int64_t steps_per_epoch = 0;
  double loss = 0;
};

struct TrainerSpec {
  TrainingProgram training = {};
  const Dataset* training_data = nullptr;  // borrowed; fields images, labels

  EvaluationProgram evaluation = {};
  const Dataset* test_data = nullptr;  // null: no evaluation

  int64_t num_epochs = 1;
  // By step over all epochs; null: as in the graph.
  LrSchedule learning_rate = {};
  uint64_t shuffle_seed = 0;

  // Filled with the last training step as it was measured; null: none.
  Timeline* last_step = nullptr;

  // Called on the caller's thread; may be null.
  std::function<void(const StepProgress&)> on_step = {};
  std::function<void(const EpochResult&)> on_epoch = {};
};

// Errors: INVALID_ARGUMENT when the data has less than one batch, or its fields
// do not fit the programs; what Session::Step and the datasets say.
absl::StatusOr<std::vector<EpochResult>> Train(Session& session,
                                               const TrainerSpec& spec);

// Part of `data` that program 1 classifies correctly: every sample counts once.
absl::StatusOr<double> Evaluate(Session& session,
                                const EvaluationProgram& program,
                                const Dataset& data);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_TRAINER_H_
