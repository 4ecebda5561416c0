// The training loop: epochs over a dataset, each followed by a test.
//
// Program 0 of the session is the training graph, program 1 (only with test
// data) the evaluation graph of the same network, with its own batch size. The
// next batch is assembled while a step runs.
//
// Resuming: a run that saves a checkpoint in on_checkpoint, followed by a run
// that loads it and starts at the position that on_checkpoint got, trains like
// one uninterrupted run. The order of the samples depends only on seed and
// epoch, and the learning rate only on the step, so the variables are bitwise
// identical.
//
//   spec.checkpoint_steps = 1000;
//   spec.on_checkpoint = [&](const TrainingPosition& next) {
//     position = next;  // to be saved with the file
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
#include "training/rate/lr_schedule.h"

namespace spillway {

// Values of the training graph.
struct TrainingProgram {
  int64_t batch_size = 0;
  ValueId images = {};  // fed
  ValueId labels = {};  // fed
  // Fed, float32 scalar; invalid: the rate is part of the graph.
  ValueId learning_rate = {};
  ValueId loss = {};  // fetched, float32 scalar
  // Fetched, float32 scalar; invalid: the model has no accuracy.
  ValueId accuracy = {};
};

// Values of the evaluation graph.
struct EvaluationProgram {
  int64_t batch_size = 0;
  ValueId images = {};   // fed
  ValueId labels = {};   // fed
  ValueId correct = {};  // fetched, bool [batch_size]
};

// A position in the training: before this step of this epoch.
struct TrainingPosition {
  int64_t epoch = 0;
  int64_t step = 0;  // in the epoch, from 0

  friend bool operator==(const TrainingPosition&,
                         const TrainingPosition&) = default;
};

struct EpochResult {
  int64_t epoch = 0;      // from 0
  int64_t num_steps = 0;  // steps of the epoch that this call ran
  // This call ran the last step of the epoch.
  bool is_complete = true;
  // TrainerSpec::stop ended the call after a step of this epoch (perhaps its
  // last) or during its test; the test result is then missing.
  bool interrupted = false;
  double loss = 0;  // mean over num_steps, during training
  // The same for the accuracy; nullopt: the model has no accuracy.
  std::optional<double> accuracy = {};
  // After the epoch, over every test sample; nullopt: no test data, or the
  // epoch is not complete or was interrupted.
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

  // Of the whole training, including the epochs before `start`.
  int64_t num_epochs = 1;
  // Where this call begins; at most {num_epochs, 0}, where nothing is left to
  // do.
  TrainingPosition start = {};
  // Steps of this call; nullopt: all that are left.
  std::optional<int64_t> max_steps = {};
  // By step over all epochs, from 0; null: the graph's own rate.
  LrSchedule learning_rate = {};
  uint64_t shuffle_seed = 0;

  // Called after each training step and each test batch, except the last of the
  // call. If it returns true, the call ends there: without a test, without
  // on_epoch, but with on_checkpoint; EpochResult::interrupted is then set. At
  // least one step runs.
  StopRequest stop = {};

  // Receives the measured timeline of the last training step, unless a callback
  // made that step the last; null: not measured. With `stop`, any step may be
  // the last, so every step is measured: that takes a few percent longer, and a
  // device that captures steps (StepOptions::capture_steps) launches none as a
  // graph.
  Timeline* last_step = nullptr;

  // All are called on the caller's thread between two steps; may be null. Their
  // exceptions leave Train; the session remains usable.
  std::function<void(StepProgress&)> on_step = {};
  // For complete epochs that were not interrupted, after their test.
  std::function<void(EpochResult&)> on_epoch = {};
  // Called when it is time to save a checkpoint, with the position from which
  // training resumes: after every `checkpoint_steps` steps, counted over all
  // epochs (0: every epoch), and when this call ends. An error ends the
  // training.
  std::function<absl::Status(const TrainingPosition& next)> on_checkpoint = {};
  int64_t checkpoint_steps = 0;
};

// The epochs of which this call ran steps, in order; the first and the last may
// be partial. Errors: INVALID_ARGUMENT if the data has less than one batch, its
// fields do not fit the programs, `start` is outside the training, or a program
// is missing or lacks a fetch; errors of Session::Step, the datasets and
// on_checkpoint. All is checked before the first step, also for the evaluation,
// except the types of feeds and fetches.
absl::StatusOr<std::vector<EpochResult>> Train(Session& session,
                                               const TrainerSpec& spec);

// The fraction of `data` that program 1 classifies correctly; every sample
// counts once. Errors: as for Train.
absl::StatusOr<double> Evaluate(Session& session,
                                const EvaluationProgram& program,
                                const Dataset& data);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_TRAINER_H_
