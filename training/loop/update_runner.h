// The updates of a training, one by one. Train (training/trainer.h) runs them
// over a dataset; a loop of one's own has batches from anywhere:
//
//   rank 0   micro-batch 0 | micro-batch 1 \                       |
//                                           sum over ranks, update | next
//                                           update
//   rank 1   micro-batch 2 | micro-batch 3 /                       |
#ifndef SPILLWAY_TRAINING_LOOP_UPDATE_RUNNER_H_
#define SPILLWAY_TRAINING_LOOP_UPDATE_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/trace/timeline.h"
#include "executor/session/session.h"
#include "training/loop/loss_scale.h"
#include "training/loop/micro_batches.h"
#include "training/trainer.h"

namespace spillway {

struct UpdateInput {
  // The fields of this rank's next micro-batch: images, labels and others, as
  // far as the program has them (TrainingProgram). Borrowed until the next
  // call.
  std::function<absl::StatusOr<std::vector<TensorView>>()> next_batch = {};
  // Of several ranks: this one wants to stop. So it does if the spec's `stop`
  // answers true after the last micro-batch.
  bool wants_stop = false;
  Timeline* timeline = nullptr;  // of the last micro-batch; null: not measured
};

// Threads: one caller.
class UpdateRunner {
 public:
  // Begins with the update spec.start.updates. Of the spec, programs,
  // learning_rate, communicator, turns, checks and loss scale count. All are
  // borrowed. Of several ranks, variables must be the same already
  // (SynchronizeVariables).
  UpdateRunner(Session& session, const TrainerSpec& spec,
               const MicroBatchPlan& plan);

  // Runs the next update; with several ranks, on all of them. Its number, its
  // rates and its results go to `progress`, those of all ranks' rows. Errors:
  // of next_batch, Session::Step and the communicator, and OUT_OF_RANGE as
  // Train.
  absl::Status Run(const UpdateInput& input, StepProgress& progress);

  int64_t next() const { return next_; }  // the number of the next update
  // Before it, of all ranks.
  int64_t micro_batches() const { return micro_batches_; }
  const LossScaleState& loss_scale() const { return loss_scale_; }
  // What the step of this rank's last micro-batch fetched.
  const StepResult& last_step() const { return last_step_; }
  // Of several ranks: one wanted to stop in the last update.
  bool any_wants_stop() const { return any_wants_stop_; }

 private:
  // What a micro-batch's step fetched; 0: nothing.
  struct MicroResult {
    double loss = 0;
    double accuracy = 0;
    double square_sum = 0;
  };

  static absl::StatusOr<MicroResult> ResultOf(const TrainingProgram& program,
                                              const StepResult& step);

  int64_t MicroBatchesBefore(int64_t update) const;
  bool has_ranks() const { return WorldSizeOf(spec_.communicator) > 1; }

  absl::StatusOr<std::vector<MicroResult>> RunMicroBatches(
      const UpdateInput& input, const StepProgress& progress);
  absl::StatusOr<MicroResult> RunMicroBatch(const MicroBatch& micro,
                                            size_t index,
                                            const UpdateInput& input,
                                            const StepProgress& progress,
                                            Timeline* timeline);
  absl::Status SetStepNumber(const TrainingProgram& program, size_t index);
  absl::Status ShareResults(const UpdateInput& input,
                            std::vector<MicroResult>& results);
  void AddResults(const std::vector<MicroResult>& results,
                  StepProgress& progress);
  absl::Status CheckFinite(StepProgress& progress);
  absl::Status UpdateVariables(const StepProgress& progress);
  absl::Status CheckRanks();
  void FeedRate(ValueId id, const StepProgress& progress, Feeds& feeds) const;
  void FeedTurn(ValueId id, Feeds& feeds) const;

  Session& session_;
  const TrainerSpec& spec_;
  const MicroBatchPlan& plan_;
  int64_t next_;
  int64_t micro_batches_;
  LossScaleState loss_scale_;
  StepResult last_step_;
  double square_sum_ = 0;  // of the last update; 0: not known
  bool any_wants_stop_ = false;
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_LOOP_UPDATE_RUNNER_H_
