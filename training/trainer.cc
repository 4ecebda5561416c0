#include "training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>

#include "base/counted.h"
#include "base/status_macros.h"
#include "training/data/batched.h"
#include "training/data/prefetched.h"
#include "training/data/shuffled.h"

namespace spillway {
namespace {

constexpr int kTrainingProgram = 0;
constexpr int kEvaluationProgram = 1;

absl::Status CheckFields(const Dataset& data, const char* what) {
  SPILLWAY_RETURN_IF_ERROR(Annotate(data.status(), what));
  if (data.fields().size() == 2) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("{} has {}; the trainer needs images and labels", what,
                  Counted(data.fields().size(), "field")));
}

// Checks a fetch that the program may lack.
absl::Status CheckFetched(const Session& session, int program, ValueId id,
                          const char* what) {
  const ExecutionPlan* plan = session.plan(program);
  if (plan == nullptr) {
    return InvalidArgument(fmt::format(
        "the session has no program {} to fetch the {} from", program, what));
  }
  if (std::ranges::find(plan->fetches, id) != plan->fetches.end()) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      fmt::format("the program does not fetch the {} that it is trained or "
                  "evaluated by",
                  what));
}

absl::Status CheckTraining(const Session& session,
                           const TrainingProgram& program) {
  SPILLWAY_RETURN_IF_ERROR(
      CheckFetched(session, kTrainingProgram, program.loss, "loss"));
  if (!program.accuracy.is_valid()) return absl::OkStatus();
  return CheckFetched(session, kTrainingProgram, program.accuracy, "accuracy");
}

absl::Status CheckEvaluation(const Session& session,
                             const EvaluationProgram& program,
                             const Dataset& data) {
  SPILLWAY_RETURN_IF_ERROR(CheckFields(data, "test data"));
  if (data.size() <= 0 || program.batch_size <= 0) {
    return InvalidArgument("evaluation needs data and a positive batch size");
  }
  return CheckFetched(session, kEvaluationProgram, program.correct,
                      "correct answers");
}

absl::Status CheckStart(const TrainerSpec& spec) {
  const int64_t steps = spec.training_data->size() / spec.training.batch_size;
  const TrainingPosition& start = spec.start;
  // A position at the end is valid, with nothing left to do: the last
  // checkpoint has it.
  const bool is_after_end = start.epoch > spec.num_epochs ||
                            (start.epoch == spec.num_epochs && start.step > 0);
  if (start.epoch < 0 || start.step < 0 || start.step >= steps ||
      is_after_end) {
    return InvalidArgument(fmt::format(
        "start: epoch {}, step {} is outside the training: there are {} of {}, "
        "both counted from 0",
        start.epoch, start.step, Counted(spec.num_epochs, "epoch"),
        Counted(steps, "step")));
  }
  if (spec.max_steps.value_or(0) < 0 || spec.checkpoint_steps < 0) {
    return InvalidArgument(fmt::format(
        "max_steps ({}) and checkpoint_steps ({}) must not be negative",
        spec.max_steps.value_or(0), spec.checkpoint_steps));
  }
  return absl::OkStatus();
}

absl::Status CheckSpec(const Session& session, const TrainerSpec& spec) {
  if (spec.training_data == nullptr || spec.training.batch_size <= 0) {
    return InvalidArgument("training needs data and a positive batch size");
  }
  SPILLWAY_RETURN_IF_ERROR(CheckFields(*spec.training_data, "training data"));
  if (spec.training_data->size() < spec.training.batch_size) {
    return InvalidArgument(fmt::format(
        "the training data has {} samples, fewer than one batch of {}",
        spec.training_data->size(), spec.training.batch_size));
  }
  if (spec.learning_rate && !spec.training.learning_rate.is_valid()) {
    return InvalidArgument(
        "a learning-rate schedule needs a graph that is fed the rate");
  }
  SPILLWAY_RETURN_IF_ERROR(CheckStart(spec));
  SPILLWAY_RETURN_IF_ERROR(CheckTraining(session, spec.training));
  if (spec.test_data == nullptr) return absl::OkStatus();
  return CheckEvaluation(session, spec.evaluation, *spec.test_data);
}

absl::StatusOr<double> FetchedScalar(const StepResult& step, ValueId id,
                                     const char* what) {
  SPILLWAY_ASSIGN_OR_RETURN(const HostTensor* tensor, step.tensor(id));
  const TensorType scalar = {.dtype = DType::kFloat32, .shape = Shape()};
  if (tensor->type == scalar) return step.scalar(id);
  return InvalidArgument(fmt::format("the {} must be a float32 scalar, not {}",
                                     what, tensor->type.ToString()));
}

// Fraction of `data` that is classified correctly; nullopt: stopped before the
// end.
absl::StatusOr<std::optional<double>> EvaluateUntil(
    const StopRequest& stop, Session& session, const EvaluationProgram& program,
    const Dataset& data) {
  const Batched batches(
      data, {.batch_size = program.batch_size, .drop_remainder = false});
  Prefetched reader(batches);
  int64_t num_correct = 0;
  for (int64_t i = 0; i < batches.size(); ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(const Batch batch, reader.Next());
    SPILLWAY_ASSIGN_OR_RETURN(
        const StepResult step,
        session.Step(kEvaluationProgram,
                     {{program.images, batch[0]}, {program.labels, batch[1]}}));
    SPILLWAY_ASSIGN_OR_RETURN(const HostTensor* correct,
                              step.tensor(program.correct));
    const TensorType flag_type = {.dtype = DType::kBool,
                                  .shape = {program.batch_size}};
    if (correct->type != flag_type) {
      return InvalidArgument(
          fmt::format("the correct answers must be {}, not {}",
                      flag_type.ToString(), correct->type.ToString()));
    }
    SPILLWAY_ASSIGN_OR_RETURN(const std::span<const bool> flags,
                              correct->span<bool>());
    const auto valid = static_cast<size_t>(batches.valid_samples(i));
    num_correct += std::ranges::count(flags.first(valid), true);
    if (i + 1 < batches.size() && StopRequested(stop)) return std::nullopt;
  }
  return static_cast<double>(num_correct) / static_cast<double>(data.size());
}

// One call of Train.
class TrainingRun {
 public:
  TrainingRun(Session& session, const TrainerSpec& spec)
      : session_(session),
        spec_(spec),
        steps_per_epoch_(spec.training_data->size() / spec.training.batch_size),
        next_(spec.start) {}

  absl::StatusOr<std::vector<EpochResult>> Run() {
    std::vector<EpochResult> results;
    while (next_.epoch < spec_.num_epochs && !IsOver()) {
      EpochResult result = {.epoch = next_.epoch};
      SPILLWAY_RETURN_IF_ERROR(RunEpoch(result));
      if (result.is_complete) SPILLWAY_RETURN_IF_ERROR(EndEpoch(result));
      result.interrupted = is_interrupted_;
      results.push_back(result);
    }
    if (next_ != saved_) SPILLWAY_RETURN_IF_ERROR(Checkpoint());
    return results;
  }

 private:
  bool IsOver() const {
    return is_stopped_ || is_interrupted_ || num_steps_ == spec_.max_steps;
  }

  // Runs the steps from next_ to the last one of the epoch or of this call.
  absl::Status RunEpoch(EpochResult& result) {
    const Shuffled shuffled(*spec_.training_data,
                            {.seed = spec_.shuffle_seed, .epoch = next_.epoch});
    const Batched batches(shuffled, {.batch_size = spec_.training.batch_size});
    Prefetched reader(batches, next_.step);
    const auto start = std::chrono::steady_clock::now();
    double accuracy = 0;
    while (next_.step < steps_per_epoch_ && !IsOver()) {
      SPILLWAY_ASSIGN_OR_RETURN(const Batch batch, reader.Next());
      SPILLWAY_ASSIGN_OR_RETURN(const StepResult step, Step(batch));
      SPILLWAY_RETURN_IF_ERROR(Count(step, result.loss, accuracy));
      ++result.num_steps;
      const bool is_due = spec_.checkpoint_steps != 0 &&
                          next_.step < steps_per_epoch_ &&
                          StepsDone() % spec_.checkpoint_steps == 0;
      if (is_due) SPILLWAY_RETURN_IF_ERROR(Checkpoint());
    }
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    result.seconds = elapsed.count();
    result.is_complete = next_.step == steps_per_epoch_;
    const auto steps = static_cast<double>(result.num_steps);
    result.loss /= steps;
    if (spec_.training.accuracy.is_valid()) result.accuracy = accuracy / steps;
    return absl::OkStatus();
  }

  absl::StatusOr<StepResult> Step(const Batch& batch) {
    const TrainingProgram& program = spec_.training;
    Feeds feeds = {{program.images, batch[0]}, {program.labels, batch[1]}};
    if (spec_.learning_rate) {
      feeds[program.learning_rate] =
          static_cast<float>(spec_.learning_rate(StepsDone()));
    }
    const bool may_be_last = IsLast() || spec_.stop;
    return session_.Step(kTrainingProgram, feeds,
                         may_be_last ? spec_.last_step : nullptr);
  }

  // Whether next_ is the last step of the training or of this call.
  bool IsLast() const {
    const bool is_last_of_all = next_.epoch + 1 == spec_.num_epochs &&
                                next_.step + 1 == steps_per_epoch_;
    return is_last_of_all || num_steps_ + 1 == spec_.max_steps;
  }

  // Adds the step's results to the sums of its epoch, and reports the step.
  absl::Status Count(const StepResult& step, double& losses,
                     double& accuracies) {
    SPILLWAY_ASSIGN_OR_RETURN(const double loss,
                              FetchedScalar(step, spec_.training.loss, "loss"));
    losses += loss;
    if (spec_.training.accuracy.is_valid()) {
      SPILLWAY_ASSIGN_OR_RETURN(
          const double accuracy,
          FetchedScalar(step, spec_.training.accuracy, "accuracy"));
      accuracies += accuracy;
    }
    StepProgress progress = {.epoch = next_.epoch,
                             .step = next_.step,
                             .steps_per_epoch = steps_per_epoch_,
                             .loss = loss};
    const bool is_last = IsLast();
    ++next_.step;
    ++num_steps_;
    if (spec_.on_step) spec_.on_step(progress);
    is_stopped_ = progress.stop;
    is_interrupted_ = !is_last && StopRequested(spec_.stop);
    return absl::OkStatus();
  }

  absl::Status EndEpoch(EpochResult& result) {
    next_ = {.epoch = next_.epoch + 1, .step = 0};
    if (spec_.test_data != nullptr && !is_interrupted_) {
      SPILLWAY_ASSIGN_OR_RETURN(
          result.test_accuracy,
          EvaluateUntil(spec_.stop, session_, spec_.evaluation,
                        *spec_.test_data));
      is_interrupted_ = !result.test_accuracy.has_value();
    }
    if (spec_.on_epoch && !is_interrupted_) spec_.on_epoch(result);
    is_stopped_ = is_stopped_ || result.stop;
    const bool is_due = spec_.checkpoint_steps == 0 ||
                        StepsDone() % spec_.checkpoint_steps == 0;
    return is_due ? Checkpoint() : absl::OkStatus();
  }

  absl::Status Checkpoint() {
    saved_ = next_;
    return spec_.on_checkpoint ? spec_.on_checkpoint(next_) : absl::OkStatus();
  }

  // Over all epochs, including those before this call.
  int64_t StepsDone() const {
    return next_.epoch * steps_per_epoch_ + next_.step;
  }

  Session& session_;
  const TrainerSpec& spec_;
  const int64_t steps_per_epoch_;
  TrainingPosition next_;
  TrainingPosition saved_ = spec_.start;  // nothing to save at the start
  int64_t num_steps_ = 0;                 // of this call
  bool is_stopped_ = false;               // by a callback
  bool is_interrupted_ = false;           // by spec_.stop
};

}  // namespace

absl::StatusOr<std::vector<EpochResult>> Train(Session& session,
                                               const TrainerSpec& spec) {
  SPILLWAY_RETURN_IF_ERROR(CheckSpec(session, spec));
  return TrainingRun(session, spec).Run();
}

absl::StatusOr<double> Evaluate(Session& session,
                                const EvaluationProgram& program,
                                const Dataset& data) {
  SPILLWAY_RETURN_IF_ERROR(CheckEvaluation(session, program, data));
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<double> accuracy,
                            EvaluateUntil(/*stop=*/{}, session, program, data));
  return *accuracy;
}

}  // namespace spillway
