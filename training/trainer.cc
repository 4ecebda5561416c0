#include "training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>

#include "base/counted.h"
#include "base/status_macros.h"
#include "training/loop/check_trainer.h"
#include "training/loop/micro_batch_reader.h"
#include "training/workers/rank_variables.h"

namespace spillway {
namespace {

using Clock = std::chrono::steady_clock;

// What a micro-batch's step fetched; 0: nothing.
struct MicroResult {
  double loss = 0;
  double accuracy = 0;
  double square_sum = 0;
};

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
        next_(spec.start.updates),
        loss_scale_(spec.start.loss_scale.value_or(LossScaleState())),
        micro_batches_(MicroBatchesBefore(next_)),
        reader_(*spec.training_data, plan_,
                {.first = next_,
                 .last = end_,
                 .rank = RankOf(spec.communicator),
                 .shuffle_seed = ShuffleSeed(spec)}) {}

  absl::StatusOr<std::vector<EpochResult>> Run() {
    if (has_ranks()) SPILLWAY_RETURN_IF_ERROR(BeginTogether());
    std::vector<EpochResult> results;
    while (!IsOver()) {
      EpochResult result = {.epoch = plan_.EpochOf(next_)};
      SPILLWAY_RETURN_IF_ERROR(RunEpoch(result));
      if (result.is_complete || next_ == num_updates_) {
        SPILLWAY_RETURN_IF_ERROR(EndEpoch(result));
      }
      result.interrupted = is_interrupted_;
      results.push_back(result);
    }
    if (next_ != saved_) SPILLWAY_RETURN_IF_ERROR(Checkpoint());
    return results;
  }

 private:
  int64_t MicroBatchesBefore(int64_t update) const {
    const std::optional<int64_t> each = plan_.UpdatesPerEpoch();
    if (!each) return update * plan_.group_size();  // all are full
    int64_t an_epoch = 0;
    int64_t rest = 0;
    for (int64_t i = 0; i < *each; ++i) {
      const auto size = static_cast<int64_t>(plan_.Batches(i).size());
      an_epoch += size;
      if (i < update % *each) rest += size;
    }
    return update / *each * an_epoch + rest;
  }

  bool IsOver() const {
    return is_stopped_ || is_interrupted_ || next_ >= end_;
  }

  // Runs the updates from next_ to the last one of the epoch or of this call.
  absl::Status RunEpoch(EpochResult& result) {
    const auto start = Clock::now();
    data_wait_ = Clock::duration::zero();
    double accuracies = 0;
    while (!IsOver() && plan_.EpochOf(next_) == result.epoch) {
      StepProgress progress = {.update = next_,
                               .num_updates = num_updates_,
                               .epoch = result.epoch,
                               .first_micro_batch = micro_batches_};
      SPILLWAY_RETURN_IF_ERROR(Update(progress));
      result.loss += progress.loss;
      accuracies += progress.accuracy.value_or(0);
      ++result.num_steps;
      Report(progress);
      SPILLWAY_RETURN_IF_ERROR(Validate(progress.first_micro_batch));
      const bool ends_epoch = plan_.EpochOf(next_) != result.epoch;
      const bool is_due = spec_.checkpoint_updates != 0 && !ends_epoch &&
                          next_ % spec_.checkpoint_updates == 0;
      if (is_due) SPILLWAY_RETURN_IF_ERROR(Checkpoint());
    }
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    result.seconds = elapsed.count();
    result.data_wait_seconds =
        std::chrono::duration<double>(data_wait_).count();
    result.is_complete = plan_.EpochOf(next_) != result.epoch;
    const auto steps = static_cast<double>(result.num_steps);
    result.loss /= steps;
    if (spec_.training.accuracy.is_valid()) {
      result.accuracy = accuracies / steps;
    }
    return absl::OkStatus();
  }

  absl::Status BeginTogether() {
    std::vector<std::string> items = {
        rows_, fmt::format("updates {} to {}", next_, end_)};
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

  absl::Status Update(StepProgress& progress) {
    const std::vector<MicroBatch> batches =
        plan_.UpdateOf(next_, RankOf(spec_.communicator));
    if (spec_.learning_rate) {
      progress.learning_rate = spec_.learning_rate(next_);
    }
    std::vector<MicroResult> results;
    for (size_t i = 0; i < batches.size(); ++i) {
      SPILLWAY_ASSIGN_OR_RETURN(
          results.emplace_back(),
          Run(batches[i], i, i + 1 == batches.size(), progress));
    }
    if (has_ranks()) SPILLWAY_RETURN_IF_ERROR(ShareResults(results));
    AddResults(results, progress);
    SPILLWAY_RETURN_IF_ERROR(CheckFinite(progress));
    if (spec_.update && !progress.skipped) {
      Feeds feeds;
      FeedRate(spec_.update->learning_rate, progress, feeds);
      FeedTurn(spec_.update->turn, feeds);
      SPILLWAY_RETURN_IF_ERROR(
          session_.Step(spec_.update->program, feeds).status());
    }
    micro_batches_ += static_cast<int64_t>(plan_.Batches(next_).size());
    return CheckRanks();
  }

  // Replaces this rank's results by those of all micro-batches of the update,
  // in the order of MicroBatchPlan::Update, and learns whether a rank wants to
  // stop.
  absl::Status ShareResults(std::vector<MicroResult>& results) {
    struct Record {
      double stops = 0;
      double counts = 0;  // 0: there is none, or it repeats other rows
      MicroResult result = {};
    };
    const std::vector<MicroBatch> batches =
        plan_.UpdateOf(next_, RankOf(spec_.communicator));
    const auto each = static_cast<size_t>(plan_.per_rank());
    std::vector<Record> own(each);
    for (size_t i = 0; i < results.size(); ++i) {
      own[i].counts = batches[i].weight > 0 ? 1 : 0;
      own[i].result = results[i];
    }
    own[0].stops = wants_stop_ || StopRequested(spec_.stop) ? 1 : 0;
    std::vector<Record> all(
        each * static_cast<size_t>(WorldSizeOf(spec_.communicator)));
    SPILLWAY_RETURN_IF_ERROR(spec_.communicator->AllGather(
        own.data(), all.data(), static_cast<int64_t>(each * sizeof(Record))));
    all_stop_ = false;
    results.clear();
    for (const Record& record : all) {
      all_stop_ = all_stop_ || record.stops != 0;
      if (record.counts != 0) results.push_back(record.result);
    }
    return absl::OkStatus();
  }

  void AddResults(const std::vector<MicroResult>& results,
                  StepProgress& progress) {
    const std::vector<MicroBatch> batches = plan_.Batches(next_);
    const std::vector<MicroBatch> slices = plan_.Update(next_);
    int64_t rows = 0;
    for (const MicroBatch& batch : batches) rows += batch.rows();
    square_sum_ = 0;
    progress.micro_losses.resize(batches.size());
    const bool has_accuracy = spec_.training.accuracy.is_valid();
    if (has_accuracy) progress.micro_accuracies.resize(batches.size());
    for (size_t i = 0; i < slices.size(); ++i) {
      const auto number = static_cast<size_t>(plan_.NumberOf(next_, slices[i]));
      const auto of_slice = static_cast<double>(slices[i].rows());
      const double part = of_slice / static_cast<double>(rows);
      const double of_micro =
          of_slice / static_cast<double>(batches[number].rows());
      progress.loss += part * results[i].loss;
      progress.micro_losses[number] += of_micro * results[i].loss;
      square_sum_ += results[i].square_sum;
      if (!has_accuracy) continue;
      progress.accuracy =
          progress.accuracy.value_or(0) + part * results[i].accuracy;
      progress.micro_accuracies[number] += of_micro * results[i].accuracy;
    }
  }

  absl::Status CheckRanks() {
    if (!has_ranks() || !Crosses(spec_.check_replicas, next_, next_ + 1)) {
      return absl::OkStatus();
    }
    std::vector<std::string> except = spec_.statistics;
    except.insert(except.end(), spec_.rank_variables.begin(),
                  spec_.rank_variables.end());
    return Annotate(CheckReplicas(session_, *spec_.communicator, except),
                    fmt::format("update {}", next_));
  }

  // The statistics of all ranks <- those of rank 0.
  absl::Status ShareStatistics() {
    if (!has_ranks()) return absl::OkStatus();
    return BroadcastVariables(session_, *spec_.communicator, spec_.statistics);
  }

  void FeedRate(ValueId id, const StepProgress& progress, Feeds& feeds) const {
    if (!spec_.learning_rate || !id.is_valid()) return;
    feeds[id] = static_cast<float>(progress.learning_rate);
  }

  void FeedTurn(ValueId id, Feeds& feeds) const {
    if (id.is_valid()) feeds[id] = spec_.turns.TurnOf(next_);
  }

  // What the micro-batches of an update say of its gradients.
  absl::Status CheckFinite(StepProgress& progress) {
    const bool is_finite =
        std::isfinite(progress.loss) && std::isfinite(square_sum_);
    if (spec_.follows_loss_scale) {
      progress.loss_scale = loss_scale_.scale;
      progress.skipped = !is_finite;
      return Annotate(AdvanceLossScale(is_finite, loss_scale_),
                      fmt::format("update {}", next_));
    }
    if (!spec_.check_finite || is_finite) return absl::OkStatus();
    if (!std::isfinite(progress.loss)) {
      return OutOfRange(
          fmt::format("update {}: the loss is {}", next_, progress.loss));
    }
    return OutOfRange(
        fmt::format("update {}: a gradient is not finite", next_));
  }

  // Micro-batch `index` of this rank's.
  absl::StatusOr<MicroResult> Run(const MicroBatch& micro, size_t index,
                                  bool is_last, const StepProgress& progress) {
    const TrainingProgram& program = *ProgramFor(spec_, micro.rows());
    SPILLWAY_ASSIGN_OR_RETURN(const Batch batch, NextBatch());
    Feeds feeds;
    const std::vector<ValueId> fields = FieldsOf(program);
    for (size_t i = 0; i < fields.size(); ++i) feeds[fields[i]] = batch[i];
    const double scale = spec_.follows_loss_scale ? loss_scale_.scale : 1;
    const auto weight = static_cast<float>(micro.weight / scale);
    const std::array<float, 2> weights = {index == 0 ? 0.0F : 1.0F, weight};
    if (program.weights.is_valid()) {
      feeds[program.weights] =
          TensorView{.type = {.dtype = DType::kFloat32, .shape = {2}},
                     .data = weights.data()};
    }
    if (program.rank_weight.is_valid()) feeds[program.rank_weight] = weight;
    if (program.loss_scale.is_valid()) {
      feeds[program.loss_scale] = static_cast<float>(scale);
    }
    FeedRate(program.learning_rate, progress, feeds);
    FeedTurn(program.turn, feeds);
    if (has_ranks()) SPILLWAY_RETURN_IF_ERROR(SetStepNumber(program, index));
    const bool may_be_last = is_last && (next_ + 1 == end_ || spec_.stop);
    SPILLWAY_ASSIGN_OR_RETURN(
        const StepResult step,
        session_.Step(program.program, feeds,
                      may_be_last ? spec_.last_step : nullptr));
    return ResultOf(program, step);
  }

  absl::StatusOr<Batch> NextBatch() {
    const auto start = Clock::now();
    absl::StatusOr<Batch> batch = reader_.Next();
    data_wait_ += Clock::now() - start;
    return batch;
  }

  // The number that the micro-batch has in the training, on whichever rank: its
  // random numbers do not depend on the number of ranks.
  absl::Status SetStepNumber(const TrainingProgram& program, size_t index) {
    std::vector<int64_t> numbers = session_.step_numbers();
    const int worker = RankOf(spec_.communicator);
    const int64_t batch = micro_batches_ +
                          plan_.rank_of(worker) * plan_.per_rank() +
                          static_cast<int64_t>(index);
    numbers[static_cast<size_t>(program.program)] =
        batch * plan_.devices() + plan_.device_of(worker);
    return session_.SetStepNumbers(numbers);
  }

  static absl::StatusOr<MicroResult> ResultOf(const TrainingProgram& program,
                                              const StepResult& step) {
    MicroResult result;
    SPILLWAY_ASSIGN_OR_RETURN(result.loss,
                              FetchedScalar(step, program.loss, "loss"));
    if (program.square_sum.is_valid()) {
      SPILLWAY_ASSIGN_OR_RETURN(
          result.square_sum,
          FetchedScalar(step, program.square_sum, "square sum"));
    }
    if (program.accuracy.is_valid()) {
      SPILLWAY_ASSIGN_OR_RETURN(
          result.accuracy, FetchedScalar(step, program.accuracy, "accuracy"));
    }
    return result;
  }

  void Report(StepProgress& progress) {
    ++next_;
    progress.after = State();
    if (spec_.on_step) spec_.on_step(progress);
    if (has_ranks()) {
      // Those that a rank wanted before this update, on all ranks alike.
      wants_stop_ = progress.stop;
      is_interrupted_ = next_ < end_ && all_stop_;
      return;
    }
    is_stopped_ = progress.stop;
    is_interrupted_ = next_ < end_ && StopRequested(spec_.stop);
  }

  // If it is due after the update that began with micro-batch `first`.
  absl::Status Validate(int64_t first) {
    const int64_t every = spec_.validation_interval;
    if (spec_.validation_data == nullptr || is_interrupted_ ||
        !Crosses(every, first, micro_batches_)) {
      return absl::OkStatus();
    }
    SPILLWAY_ASSIGN_OR_RETURN(const std::optional<EvaluationResult> evaluated,
                              Evaluate(*spec_.validation_data));
    is_interrupted_ = !evaluated.has_value();
    if (evaluated && spec_.on_validation) {
      spec_.on_validation(
          {.micro_batches = micro_batches_, .evaluation = *evaluated});
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
        spec_.checkpoint_updates == 0 || next_ % spec_.checkpoint_updates == 0;
    return is_due && next_ != saved_ ? Checkpoint() : absl::OkStatus();
  }

  absl::Status Checkpoint() {
    saved_ = next_;
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
    TrainingState state = {.updates = next_, .rows = rows_};
    if (spec_.follows_loss_scale) state.loss_scale = loss_scale_;
    return state;
  }

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
  int64_t next_;
  int64_t saved_ = spec_.start.updates;  // nothing to save at the start
  LossScaleState loss_scale_;
  double square_sum_ = 0;        // of the last update; 0: not known
  int64_t micro_batches_;        // before next_
  bool is_stopped_ = false;      // by a callback
  bool is_interrupted_ = false;  // by spec_.stop
  bool wants_stop_ = false;      // of several ranks: this one does
  bool all_stop_ = false;        // of several ranks: one did
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
