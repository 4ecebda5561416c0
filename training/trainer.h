// The training loop: epochs over a dataset, then a look at the test set.
//
// Program 0 of the session is the training graph, program 1 (only with test
// data) the evaluation graph of the same network, at its own batch size. The
// next batch is put together while a step runs.
//
// Going on later: a run that saves a checkpoint where on_checkpoint says, and
// another that loads it and starts at the position it was called with, train as
// one run would: the order of the samples depends on seed and epoch alone, the
// learning rate on the step. Variables are then bitwise the same.
//
//   spec.checkpoint_steps = 1000;
//   spec.on_checkpoint = [&](const TrainingPosition& next) {
//     position = next;  // to be kept with the file
//     return SaveCheckpoint(*session, path);
//   };
//   ...
//   SPILLWAY_RETURN_IF_ERROR(LoadCheckpoint(path, *session));
//   spec.start = position;
#ifndef SPILLWAY_TRAINING_TRAINER_H_
#define SPILLWAY_TRAINING_TRAINER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/stop_request.h"
#include "base/trace/timeline.h"
#include "executor/session/session.h"
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
  ValueId loss = {};  // fetched, float32 scalar
  // Fetched, float32 scalar; invalid: the model has none.
  ValueId accuracy = {};
};

// Values of the evaluation graph.
struct EvaluationProgram {
  int64_t batch_size = 0;
  ValueId images = {};   // fed
  ValueId labels = {};   // fed
  ValueId correct = {};  // fetched, bool [batch_size]
};

// A place in the training: before this step of this epoch.
struct TrainingPosition {
  int64_t epoch = 0;
  int64_t step = 0;  // in the epoch, from 0

  friend bool operator==(const TrainingPosition&,
                         const TrainingPosition&) = default;
};

struct EpochResult {
  int64_t epoch = 0;      // from 0
  int64_t num_steps = 0;  // of the epoch's, those that this call has run
  // Its last step has been run, by this call.
  bool is_complete = true;
  // TrainerSpec::stop ended the call after a step of this epoch, the last one
  // perhaps, or in its test, which is then left out.
  bool interrupted = false;
  double loss = 0;  // mean over num_steps, as they went
  // The same; none: the model has none.
  std::optional<double> accuracy = {};
  // After the epoch, over every test sample; none: no test data, or the epoch
  // is not complete or was interrupted.
  std::optional<double> test_accuracy = {};
  double seconds = 0;  // of the epoch's training, without the test
  // Set by on_epoch to stop the training after this epoch.
  bool stop = false;
};

struct StepProgress {
  int64_t epoch = 0;
  int64_t step = 0;  // in this epoch, from 0
  int64_t steps_per_epoch = 0;
  double loss = 0;
  // Set by on_step to stop the training after this step.
  bool stop = false;
};

struct TrainerSpec {
  TrainingProgram training = {};
  const Dataset* training_data = nullptr;  // borrowed; fields images, labels

  EvaluationProgram evaluation = {};
  const Dataset* test_data = nullptr;  // null: no evaluation

  // Of the whole training, those before `start` included.
  int64_t num_epochs = 1;
  // Where this call begins; no later than {num_epochs, 0}, where all is done.
  TrainingPosition start = {};
  // Steps of this call; none: as many as the epochs have.
  std::optional<int64_t> max_steps = {};
  // By step over all epochs, from 0; null: as in the graph.
  LrSchedule learning_rate = {};
  uint64_t shuffle_seed = 0;

  // Asked after each training step and each batch of a test, but the last of
  // the call. When it answers true, the call ends there: without a test,
  // without on_epoch, but with on_checkpoint; EpochResult::interrupted says so.
  // At least one step is run.
  StopRequest stop = {};

  // Filled with the last training step as it was measured, unless a callback
  // has made it the last; null: none. With `stop` every step is measured, since
  // any may be the last: that takes some percent longer, and a device that
  // captures steps (StepOptions::capture_steps) launches none as a graph.
  Timeline* last_step = nullptr;

  // All are called on the caller's thread between two steps; may be null. What
  // they throw leaves Train; the session can be used on.
  std::function<void(StepProgress&)> on_step = {};
  // Of complete epochs that were not interrupted, after their test.
  std::function<void(EpochResult&)> on_epoch = {};
  // The time to save a checkpoint, and where training goes on from it: whenever
  // `checkpoint_steps` more steps, counted over all epochs, are done (0: an
  // epoch), and when this call ends. An error ends the training.
  std::function<absl::Status(const TrainingPosition& next)> on_checkpoint = {};
  int64_t checkpoint_steps = 0;
};

// The epochs that this call has run steps of, in order; of the first and the
// last of them perhaps a part. Errors: INVALID_ARGUMENT when the data has less
// than one batch, its fields do not fit the programs, `start` is outside the
// training, or a program is missing or does not fetch what it should; what
// Session::Step, the datasets and on_checkpoint say. Before the first step, all
// is checked but the types of feeds and fetches, the evaluation's too.
absl::StatusOr<std::vector<EpochResult>> Train(Session& session,
                                               const TrainerSpec& spec);

// Part of `data` that program 1 classifies correctly: every sample counts once.
// Errors: as Train's.
absl::StatusOr<double> Evaluate(Session& session,
                                const EvaluationProgram& program,
                                const Dataset& data);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_TRAINER_H_
