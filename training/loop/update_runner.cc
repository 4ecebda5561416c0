#include "training/loop/update_runner.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "training/loop/check_trainer.h"
#include "training/loop/evaluation.h"
#include "training/workers/synchronize.h"

namespace spillway {

UpdateRunner::UpdateRunner(Session& session, const TrainerSpec& spec,
                           const MicroBatchPlan& plan)
    : session_(session),
      spec_(spec),
      plan_(plan),
      next_(spec.start.updates),
      micro_batches_(MicroBatchesBefore(next_)),
      loss_scale_(spec.start.loss_scale.value_or(LossScaleState())) {}

int64_t UpdateRunner::MicroBatchesBefore(int64_t update) const {
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

absl::Status UpdateRunner::Run(const UpdateInput& input,
                               StepProgress& progress) {
  progress.update = next_;
  progress.first_micro_batch = micro_batches_;
  if (spec_.learning_rate) progress.learning_rate = spec_.learning_rate(next_);
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<MicroResult> results,
                            RunMicroBatches(input, progress));
  if (has_ranks()) SPILLWAY_RETURN_IF_ERROR(ShareResults(input, results));
  AddResults(results, progress);
  SPILLWAY_RETURN_IF_ERROR(CheckFinite(progress));
  SPILLWAY_RETURN_IF_ERROR(UpdateVariables(progress));
  SPILLWAY_RETURN_IF_ERROR(CheckRanks());
  micro_batches_ += static_cast<int64_t>(plan_.Batches(next_).size());
  ++next_;
  return absl::OkStatus();
}

// Those of this rank.
absl::StatusOr<std::vector<UpdateRunner::MicroResult>>
UpdateRunner::RunMicroBatches(const UpdateInput& input,
                              const StepProgress& progress) {
  const std::vector<MicroBatch> batches =
      plan_.UpdateOf(next_, RankOf(spec_.communicator));
  std::vector<MicroResult> results;
  for (size_t i = 0; i < batches.size(); ++i) {
    Timeline* timeline = i + 1 == batches.size() ? input.timeline : nullptr;
    SPILLWAY_ASSIGN_OR_RETURN(
        results.emplace_back(),
        RunMicroBatch(batches[i], i, input, progress, timeline));
  }
  return results;
}

// Micro-batch `index` of this rank's.
absl::StatusOr<UpdateRunner::MicroResult> UpdateRunner::RunMicroBatch(
    const MicroBatch& micro, size_t index, const UpdateInput& input,
    const StepProgress& progress, Timeline* timeline) {
  const TrainingProgram& program = *ProgramFor(spec_, micro.rows());
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<TensorView> batch,
                            input.next_batch());
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
  SPILLWAY_ASSIGN_OR_RETURN(last_step_,
                            session_.Step(program.program, feeds, timeline));
  return ResultOf(program, last_step_);
}

// The number that the micro-batch has in the training, on whichever rank: its
// random numbers do not depend on the number of ranks.
absl::Status UpdateRunner::SetStepNumber(const TrainingProgram& program,
                                         size_t index) {
  std::vector<int64_t> numbers = session_.step_numbers();
  const int worker = RankOf(spec_.communicator);
  const int64_t batch = micro_batches_ +
                        plan_.rank_of(worker) * plan_.per_rank() +
                        static_cast<int64_t>(index);
  numbers[static_cast<size_t>(program.program)] =
      batch * plan_.devices() + plan_.device_of(worker);
  return session_.SetStepNumbers(numbers);
}

absl::StatusOr<UpdateRunner::MicroResult> UpdateRunner::ResultOf(
    const TrainingProgram& program, const StepResult& step) {
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

// Replaces this rank's results by those of all micro-batches of the update,
// in the order of MicroBatchPlan::Update, and learns whether a rank wants to
// stop.
absl::Status UpdateRunner::ShareResults(const UpdateInput& input,
                                        std::vector<MicroResult>& results) {
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
  own[0].stops = input.wants_stop || StopRequested(spec_.stop) ? 1 : 0;
  std::vector<Record> all(each *
                          static_cast<size_t>(WorldSizeOf(spec_.communicator)));
  SPILLWAY_RETURN_IF_ERROR(spec_.communicator->AllGather(
      own.data(), all.data(), static_cast<int64_t>(each * sizeof(Record))));
  any_wants_stop_ = false;
  results.clear();
  for (const Record& record : all) {
    any_wants_stop_ = any_wants_stop_ || record.stops != 0;
    if (record.counts != 0) results.push_back(record.result);
  }
  return absl::OkStatus();
}

void UpdateRunner::AddResults(const std::vector<MicroResult>& results,
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

// What the micro-batches of an update say of its gradients.
absl::Status UpdateRunner::CheckFinite(StepProgress& progress) {
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
  return OutOfRange(fmt::format("update {}: a gradient is not finite", next_));
}

// By the update program, if there is one.
absl::Status UpdateRunner::UpdateVariables(const StepProgress& progress) {
  if (!spec_.update || progress.skipped) return absl::OkStatus();
  Feeds feeds;
  FeedRate(spec_.update->learning_rate, progress, feeds);
  FeedTurn(spec_.update->turn, feeds);
  return session_.Step(spec_.update->program, feeds).status();
}

absl::Status UpdateRunner::CheckRanks() {
  if (!has_ranks() || !Crosses(spec_.check_replicas, next_, next_ + 1)) {
    return absl::OkStatus();
  }
  std::vector<std::string> except = spec_.statistics;
  except.insert(except.end(), spec_.rank_variables.begin(),
                spec_.rank_variables.end());
  return Annotate(CheckReplicas(session_, *spec_.communicator, except),
                  fmt::format("update {}", next_));
}

void UpdateRunner::FeedRate(ValueId id, const StepProgress& progress,
                            Feeds& feeds) const {
  if (!spec_.learning_rate || !id.is_valid()) return;
  feeds[id] = static_cast<float>(progress.learning_rate);
}

void UpdateRunner::FeedTurn(ValueId id, Feeds& feeds) const {
  if (id.is_valid()) feeds[id] = spec_.turns.TurnOf(next_);
}

}  // namespace spillway
