#include "training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "base/counted.h"
#include "base/status_macros.h"
#include "training/loop/check_trainer.h"
#include "training/loop/micro_batch_reader.h"
#include "training/loop/update_runner.h"
#include "training/workers/rank_variables.h"

namespace spillway {
namespace {

using Clock = std::chrono::steady_clock;

// One call of Train.
class TrainingRun {
 public:
  TrainingRun(Session& session, const TrainerSpec& spec,
              const MicroBatchPlan& plan, int64_t num_updates)
      : session_(session),
        spec_(spec),
        plan_(plan),
        num_updates_(num_updates),
        end_(std::min(num_updates, spec.start.updates +
                                       spec.max_steps.value_or(num_updates))),
        updates_(session, spec_, plan_),
        reader_(*spec.training_data, plan_,
                {.first = updates_.next(),
                 .last = end_,
                 .rank = RankOf(spec.communicator),
                 .shuffle_seed = ShuffleSeed(spec)}) {}

  absl::StatusOr<std::vector<EpochResult>> Run() {
    if (has_ranks()) SPILLWAY_RETURN_IF_ERROR(BeginTogether());
    std::vector<EpochResult> results;
    while (!IsOver()) {
      EpochResult result = {.epoch = plan_.EpochOf(next())};
      SPILLWAY_RETURN_IF_ERROR(RunEpoch(result));
      if (result.is_complete || next() == num_updates_) {
        SPILLWAY_RETURN_IF_ERROR(EndEpoch(result));
      }
      result.interrupted = is_interrupted_;
      results.push_back(result);
    }
    if (next() != saved_) SPILLWAY_RETURN_IF_ERROR(Checkpoint());
    return results;
  }

 private:
  bool IsOver() const {
    return is_stopped_ || is_interrupted_ || next() >= end_;
  }

  // Runs the updates from next() to the last one of the epoch or of this call.
  absl::Status RunEpoch(EpochResult& result) {
    const auto start = Clock::now();
    data_wait_ = Clock::duration::zero();
    double accuracies = 0;
    while (!IsOver() && plan_.EpochOf(next()) == result.epoch) {
      StepProgress progress = {.num_updates = num_updates_,
                               .epoch = result.epoch};
      SPILLWAY_RETURN_IF_ERROR(Update(progress));
      result.loss += progress.loss;
      accuracies += progress.accuracy.value_or(0);
      ++result.num_steps;
      Report(progress);
      SPILLWAY_RETURN_IF_ERROR(Validate(progress.first_micro_batch));
      const bool ends_epoch = plan_.EpochOf(next()) != result.epoch;
      const bool is_due = spec_.checkpoint_updates != 0 && !ends_epoch &&
                          next() % spec_.checkpoint_updates == 0;
      if (is_due) SPILLWAY_RETURN_IF_ERROR(Checkpoint());
    }
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    result.seconds = elapsed.count();
    result.data_wait_seconds =
        std::chrono::duration<double>(data_wait_).count();
    result.is_complete = plan_.EpochOf(next()) != result.epoch;
    const auto steps = static_cast<double>(result.num_steps);
    result.loss /= steps;
    if (spec_.training.accuracy.is_valid()) {
      result.accuracy = accuracies / steps;
    }
    return absl::OkStatus();
  }

  absl::Status BeginTogether() {
    std::vector<std::string> items = {
        rows_, fmt::format("updates {} to {}", next(), end_)};
    if (has_same_variables()) {
      items.push_back(fmt::format("evaluation in batches of {}",
                                  spec_.evaluation.batch_size));
    }
    items.insert(items.end(), spec_.agreement.begin(), spec_.agreement.end());
    SPILLWAY_RETURN_IF_ERROR(CheckAgreement(*spec_.communicator, items));
    SPILLWAY_RETURN_IF_ERROR(
        SynchronizeVariables(session_, *spec_.communicator, spec_.init_sync));
    return ScatterRankVariables(session_, *spec_.communicator,
                                spec_.rank_variables, spec_.start.other_ranks);
  }

  // The statistics of all ranks <- those of rank 0.
  absl::Status ShareStatistics() {
    if (!has_ranks()) return absl::OkStatus();
    return BroadcastVariables(session_, *spec_.communicator, spec_.statistics);
  }

  absl::Status Update(StepProgress& progress) {
    const bool may_be_last = next() + 1 == end_ || spec_.stop;
    return updates_.Run({.next_batch = [this] { return NextBatch(); },
                         .wants_stop = wants_stop_,
                         .timeline = may_be_last ? spec_.last_step : nullptr},
                        progress);
  }

  absl::StatusOr<std::vector<TensorView>> NextBatch() {
    const auto start = Clock::now();
    SPILLWAY_ASSIGN_OR_RETURN(batch_, reader_.Next());
    data_wait_ += Clock::now() - start;
    std::vector<TensorView> views;
    for (size_t i = 0; i < batch_.size(); ++i) views.push_back(batch_[i]);
    return views;
  }

  void Report(StepProgress& progress) {
    progress.after = State();
    if (spec_.on_step) spec_.on_step(progress);
    if (has_ranks()) {
      // Those that a rank wanted before this update, on all ranks alike.
      wants_stop_ = progress.stop;
      is_interrupted_ = next() < end_ && updates_.any_wants_stop();
      return;
    }
    is_stopped_ = progress.stop;
    is_interrupted_ = next() < end_ && StopRequested(spec_.stop);
  }

  // If it is due after the update that began with micro-batch `first`.
  absl::Status Validate(int64_t first) {
    const int64_t every = spec_.validation_interval;
    if (spec_.validation_data == nullptr || is_interrupted_ ||
        !Crosses(every, first, updates_.micro_batches())) {
      return absl::OkStatus();
    }
    SPILLWAY_ASSIGN_OR_RETURN(const std::optional<EvaluationResult> evaluated,
                              Evaluate(*spec_.validation_data));
    is_interrupted_ = !evaluated.has_value();
    if (evaluated && spec_.on_validation) {
      spec_.on_validation({.micro_batches = updates_.micro_batches(),
                           .evaluation = *evaluated});
    }
    return absl::OkStatus();
  }

  // Ranks that work together do not stop one by one, and share the batches if
  // they have the same variables.
  absl::StatusOr<std::optional<EvaluationResult>> Evaluate(
      const Dataset& data) {
    SPILLWAY_RETURN_IF_ERROR(ShareStatistics());
    if (has_same_variables()) {
      return EvaluateTogether(*spec_.communicator, session_, spec_.evaluation,
                              data);
    }
    return EvaluateUntil(has_ranks() ? StopRequest() : spec_.stop, session_,
                         spec_.evaluation, data);
  }

  absl::Status EndEpoch(EpochResult& result) {
    if (spec_.test_data != nullptr && !is_interrupted_) {
      SPILLWAY_ASSIGN_OR_RETURN(const std::optional<EvaluationResult> test,
                                Evaluate(*spec_.test_data));
      if (test) {
        result.test_accuracy = test->accuracy;
        result.test_top_k_accuracy = test->top_k_accuracy;
      }
      is_interrupted_ = !test.has_value();
    }
    if (spec_.on_epoch && !is_interrupted_) spec_.on_epoch(result);
    if (has_ranks()) {
      wants_stop_ = wants_stop_ || result.stop;
    } else {
      is_stopped_ = is_stopped_ || result.stop;
    }
    const bool is_due =
        spec_.checkpoint_updates == 0 || next() % spec_.checkpoint_updates == 0;
    return is_due && next() != saved_ ? Checkpoint() : absl::OkStatus();
  }

  absl::Status Checkpoint() {
    saved_ = next();
    SPILLWAY_RETURN_IF_ERROR(ShareStatistics());
    TrainingState state = State();
    if (has_ranks()) {
      SPILLWAY_ASSIGN_OR_RETURN(
          state.other_ranks, GatherRankVariables(session_, *spec_.communicator,
                                                 spec_.rank_variables));
    }
    return spec_.on_checkpoint ? spec_.on_checkpoint(state) : absl::OkStatus();
  }

  TrainingState State() const {
    TrainingState state = {.updates = next(), .rows = rows_};
    if (spec_.follows_loss_scale) state.loss_scale = updates_.loss_scale();
    return state;
  }

  int64_t next() const { return updates_.next(); }
  bool has_ranks() const { return WorldSizeOf(spec_.communicator) > 1; }
  bool has_same_variables() const {
    return has_ranks() && spec_.turns.parts == 0;
  }

  Session& session_;
  const TrainerSpec& spec_;
  const MicroBatchPlan plan_;
  const int64_t num_updates_;  // of the whole training
  const int64_t end_;          // of this call
  const std::string rows_ = DescribeRows(plan_, ShuffleSeed(spec_));
  int64_t saved_ = spec_.start.updates;  // nothing to save at the start
  bool is_stopped_ = false;              // by a callback
  bool is_interrupted_ = false;          // by spec_.stop
  bool wants_stop_ = false;              // of several ranks: this one does
  UpdateRunner updates_;
  Batch batch_;  // of the running micro-batch
  MicroBatchReader reader_;
  Clock::duration data_wait_ = {};  // for it, in this epoch
};

}  // namespace

absl::StatusOr<std::vector<EpochResult>> Train(Session& session,
                                               const TrainerSpec& spec) {
  SPILLWAY_ASSIGN_OR_RETURN(const CheckedTraining checked,
                            CheckTrainer(session, spec));
  absl::StatusOr<std::vector<EpochResult>> results =
      TrainingRun(session, spec, checked.plan, checked.num_updates).Run();
  if (!results.ok() && spec.communicator != nullptr) {
    spec.communicator->Abort(results.status());  // the others need not wait
  }
  return results;
}

}  // namespace spillway
