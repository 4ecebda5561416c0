// The training loop: updates over a dataset, each from one or several
// micro-batches, and a test after each epoch.
//
// The session has a program for each size of micro-batch, an update program if
// an update has several micro-batches, and, with test data, the evaluation
// program of the same network (training/loop/training_programs.h makes them).
// The next micro-batch is assembled while a step runs.
//
//   one micro-batch an update         several
//   | train | train | train           | micro | micro | update | micro | ...
//
// Resuming: a run that saves a checkpoint in on_checkpoint, followed by a run
// that loads it and starts with the state that on_checkpoint got, trains like
// one uninterrupted run. The order of the rows depends only on seed and epoch,
// and the learning rate only on the update, so the variables are bitwise
// identical.
//
//   spec.checkpoint_updates = 1000;
//   spec.on_checkpoint = [&](const TrainingState& state) {
//     return SaveCheckpoint(*session, path, state);
//   };
//   ...
//   SPILLWAY_ASSIGN_OR_RETURN(const std::optional<TrainingState> state,
//                             LoadCheckpoint(path, *session));
//   if (state) spec.start = *state;
//
// Several ranks: each calls Train with its own session and communicator, the
// same programs and the same spec, but for callbacks, which report and save on
// one of them (rank 0, say). Every rank takes its micro-batches of each update.
// Losses and accuracies are those of all rows, the same on all ranks; a stop
// that one rank wishes for, ends the training of all of them.
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
#include "comm/communicator.h"
#include "executor/session/session.h"
#include "training/data/dataset.h"
#include "training/loop/evaluation.h"
#include "training/loop/micro_batches.h"
#include "training/loop/training_state.h"
#include "training/rate/lr_schedule.h"
#include "training/workers/average_in_turn.h"
#include "training/workers/synchronize.h"

namespace spillway {

// Forward and backward phase of micro-batches of one size, and their values.
struct TrainingProgram {
  int program = 0;         // in the session
  int64_t batch_size = 0;  // rows
  // Fed: the first two fields of the data, and any others. Invalid: that field
  // is not read.
  ValueId images = {};
  ValueId labels = {};
  std::vector<ValueId> more_fields = {};
  // Fed, float32 scalar; invalid: the rate is part of a graph. Only of programs
  // that update the variables themselves.
  ValueId learning_rate = {};
  // Fed, float32 scalar: the factor on this rank's gradients, its part of the
  // update's rows; invalid: there is one rank, or `weights`.
  ValueId rank_weight = {};
  // Fed, int32 scalar: the turn of TrainerSpec::turns; invalid: not needed.
  ValueId turn = {};
  // Fed, float32 [2]: the factors on the gradients so far and on these
  // (SumGradients). Invalid: the program updates the variables itself.
  ValueId weights = {};
  // Fed, float32 scalar, the factor on the loss for the backward phase;
  // invalid: it is part of the graph. Needs `weights`.
  ValueId loss_scale = {};
  ValueId loss = {};  // fetched, float32 scalar: the mean over the rows
  // Fetched, float32 scalar; invalid: the model has no accuracy.
  ValueId accuracy = {};
  // Fetched too, for others than the trainer (UpdateRunner::last_step).
  std::vector<ValueId> fetches = {};
  // Fetched, float32 scalar that is not finite if a gradient so far is not
  // (MinimizeOptions::sums_squares); invalid: not known.
  ValueId square_sum = {};
};

// The update from the sums of gradients (MinimizeSums).
struct UpdateProgram {
  int program = 0;
  ValueId learning_rate = {};  // as above
  ValueId turn = {};           // as above
};

struct EpochResult {
  int64_t epoch = 0;      // from 0
  int64_t num_steps = 0;  // updates of the epoch that this call ran
  // This call ran the last update of the epoch.
  bool is_complete = true;
  // TrainerSpec::stop ended the call after an update of this epoch (perhaps its
  // last) or during its test; the test result is then missing.
  bool interrupted = false;
  double loss = 0;  // mean over num_steps, during training
  // The same for the accuracy; nullopt: the model has no accuracy.
  std::optional<double> accuracy = {};
  // After the epoch, or after the last update of the training, over every test
  // sample; nullopt: no test data, or the call ended before.
  std::optional<double> test_accuracy = {};
  // The same for the k largest logits; nullopt too without
  // EvaluationProgram::in_top_k.
  std::optional<double> test_top_k_accuracy = {};
  double seconds = 0;  // of the epoch's training, without the test
  // Of these, spent waiting for the rows of the next micro-batch.
  double data_wait_seconds = 0;
  // Set by on_epoch to stop the training after this epoch.
  bool stop = false;
};

// After an update.
struct StepProgress {
  int64_t update = 0;       // from 0
  int64_t num_updates = 0;  // of the whole training
  int64_t epoch = 0;
  double loss = 0;                      // mean over the update's rows
  std::optional<double> accuracy = {};  // the same
  double learning_rate = 0;             // 0 if it is part of a graph
  // Of a loss scale that changes: its value in this update, and whether the
  // update was left out because a gradient was not finite.
  std::optional<double> loss_scale = {};
  bool skipped = false;
  // Micro-batches before this update, and the losses and accuracies of its own.
  int64_t first_micro_batch = 0;
  std::vector<double> micro_losses = {};
  std::vector<double> micro_accuracies = {};
  TrainingState after = {};  // to go on from, once the session is saved
  // Set by on_step to stop the training after this update.
  bool stop = false;
};

// Of TrainerSpec::validation_data.
struct ValidationResult {
  int64_t micro_batches = 0;  // done before
  EvaluationResult evaluation = {};
};

struct TrainerSpec {
  TrainingProgram training = {};
  // For the other sizes of micro-batches that `plan` has.
  std::vector<TrainingProgram> other_sizes = {};
  // Needed if an update has several micro-batches.
  std::optional<UpdateProgram> update = {};

  // Borrowed; fields images, labels and those of TrainingProgram::more_fields.
  const Dataset* training_data = nullptr;
  // Which rows an update reads. nullopt: batches of training.batch_size; rows
  // that are left over at the end of an epoch are not read.
  std::optional<MicroBatchPlan> plan = {};

  // Of several ranks, each evaluates a part of the batches, so their size must
  // be the same. Where variables are averaged in turn (`turns`), they differ,
  // and each evaluates its own.
  EvaluationProgram evaluation = {};
  const Dataset* test_data = nullptr;  // null: no evaluation

  // Rows that are evaluated during the training, by the same program, each time
  // that the number of micro-batches reaches or passes a multiple of
  // `validation_interval`. Null: none.
  const Dataset* validation_data = nullptr;
  int64_t validation_interval = 0;

  // Of the whole training, including the updates before `start`.
  TrainingLength length = {.epochs = 1};
  // What is done already; at most all.
  TrainingState start = {};
  // Updates of this call; nullopt: all that are left.
  std::optional<int64_t> max_steps = {};
  // Null: the graph's own rate.
  LrSchedule learning_rate = {};
  // The ranks that train together, that of the session too; null: one.
  // Borrowed.
  Communicator* communicator = nullptr;
  InitSync init_sync = InitSync::kBroadcast;
  // Texts that must be the same on all ranks, as what they train must be
  // (TrainingPrograms::agreement); else ABORTED before the first step.
  std::vector<std::string> agreement = {};
  // Variables that differ between ranks (running statistics). Those of rank 0
  // are evaluated and saved.
  std::vector<std::string> statistics = {};
  // Variables of which each rank has its own values, which `start` and
  // on_checkpoint have too (TrainingState::other_ranks): residuals, and what is
  // averaged in turn.
  std::vector<std::string> rank_variables = {};
  // Of programs that are fed one.
  AveragingTurns turns = {};
  // ABORTED if other variables differ, looked at after every so many updates;
  // 0: never.
  int64_t check_replicas = 0;
  // Ends the training where the loss, or a gradient (if programs have
  // square_sum), is not finite.
  bool check_finite = false;
  // Updates with gradients that are not finite are left out, and the loss scale
  // follows (training/loop/loss_scale.h). Needs programs that are fed the scale
  // and have square_sum. It begins with that of `start`.
  bool follows_loss_scale = false;
  bool shuffle = true;  // each epoch reads the rows in another order
  uint64_t shuffle_seed = 0;

  // Called after each update and each test batch, except the last of the call.
  // If it returns true, the call ends there: without a test, without on_epoch,
  // but with on_checkpoint; EpochResult::interrupted is then set. At least one
  // update runs.
  StopRequest stop = {};

  // Receives the measured timeline of the last training step (of the last
  // micro-batch), unless a callback made that step the last; null: not
  // measured. With `stop`, any update may be the last, so every one is
  // measured: that takes a few percent longer, and a device that captures steps
  // (StepOptions::capture_steps) launches none as a graph.
  Timeline* last_step = nullptr;

  // All are called on the caller's thread between two steps; may be null. Their
  // exceptions leave Train; the session remains usable.
  std::function<void(StepProgress&)> on_step = {};
  std::function<void(const ValidationResult&)> on_validation = {};
  // For epochs that are complete or end the training, and were not interrupted,
  // after their test.
  std::function<void(EpochResult&)> on_epoch = {};
  // Called when it is time to save a checkpoint, with what is done: after every
  // `checkpoint_updates` updates (0: every epoch), and when this call ends. An
  // error ends the training.
  std::function<absl::Status(const TrainingState& state)> on_checkpoint = {};
  // With rank_variables, the same on all ranks, which all give theirs to rank
  // 0.
  int64_t checkpoint_updates = 0;
};

// The epochs of which this call ran updates, in order; the first and the last
// may be partial. Errors: INVALID_ARGUMENT if the data has less than one batch,
// its fields do not fit the programs, `start` is outside the training, a
// program is missing or lacks a fetch, or there is none for a size of
// micro-batch; errors of Session::Step, the datasets and on_checkpoint. All is
// checked before the first step, also for the evaluation, except the types of
// feeds and fetches. OUT_OF_RANGE naming the update for what check_finite
// finds, and as AdvanceLossScale. With several ranks, errors of the
// communicator, and ABORTED if the ranks' variables differ.
absl::StatusOr<std::vector<EpochResult>> Train(Session& session,
                                               const TrainerSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_TRAINER_H_
