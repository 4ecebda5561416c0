#include "training/loop/check_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/counted.h"
#include "base/status_macros.h"
#include "training/loop/evaluation.h"
#include "training/loop/micro_batch_reader.h"

namespace spillway {
namespace {

absl::Status CheckTraining(const Session& session,
                           const TrainingProgram& program) {
  SPILLWAY_RETURN_IF_ERROR(
      CheckFetched(session, program.program, program.loss, "loss"));
  if (program.accuracy.is_valid()) {
    SPILLWAY_RETURN_IF_ERROR(
        CheckFetched(session, program.program, program.accuracy, "accuracy"));
  }
  if (!program.square_sum.is_valid()) return absl::OkStatus();
  return CheckFetched(session, program.program, program.square_sum,
                      "squares of gradients");
}

bool FeedsRate(const TrainerSpec& spec) {
  return spec.update ? spec.update->learning_rate.is_valid()
                     : spec.training.learning_rate.is_valid();
}

absl::Status CheckPrograms(const Session& session, const TrainerSpec& spec,
                           const MicroBatchPlan& plan) {
  if (spec.learning_rate && !FeedsRate(spec)) {
    return InvalidArgument(
        "a learning-rate schedule needs a graph that is fed the rate");
  }
  if (plan.per_rank() > 1 && !spec.update) {
    return InvalidArgument(
        fmt::format("an update of {} micro-batches needs an update program",
                    plan.per_rank()));
  }
  for (const int64_t size : plan.Sizes(RankOf(spec.communicator))) {
    const TrainingProgram* program = ProgramFor(spec, size);
    if (program == nullptr) {
      return InvalidArgument(
          fmt::format("there is no training program for a micro-batch of {}",
                      Counted(size, "row")));
    }
    if (program->weights.is_valid() != spec.update.has_value()) {
      return InvalidArgument(
          "micro-batches are fed weights if, and only if, there is an update "
          "program");
    }
    if (spec.follows_loss_scale != program->loss_scale.is_valid() ||
        (spec.follows_loss_scale && !program->square_sum.is_valid())) {
      return InvalidArgument(
          "a loss scale that changes needs programs that are fed it and fetch "
          "the squares of gradients, and these programs need such a scale");
    }
    SPILLWAY_RETURN_IF_ERROR(CheckTraining(session, *program));
  }
  return absl::OkStatus();
}

absl::Status CheckStart(const TrainerSpec& spec, const MicroBatchPlan& plan,
                        int64_t num_updates) {
  // A start at the end is valid, with nothing left to do: the last checkpoint
  // has it.
  const TrainingState& start = spec.start;
  if (start.updates < 0 || start.updates > num_updates) {
    return InvalidArgument(fmt::format(
        "start: {} is outside the training, which has {}",
        Counted(start.updates, "update"), Counted(num_updates, "update")));
  }
  const std::string rows = DescribeRows(plan, ShuffleSeed(spec));
  if (!start.rows.empty() && start.rows != rows) {
    return InvalidArgument(
        fmt::format("start: that training has read {}; this one would read {}",
                    start.rows, rows));
  }
  if (spec.max_steps.value_or(0) < 0 || spec.checkpoint_updates < 0 ||
      spec.validation_interval < 0) {
    return InvalidArgument(fmt::format(
        "max_steps ({}), checkpoint_updates ({}) and validation_interval ({}) "
        "must not be negative",
        spec.max_steps.value_or(0), spec.checkpoint_updates,
        spec.validation_interval));
  }
  return absl::OkStatus();
}

absl::StatusOr<MicroBatchPlan> PlanOf(const TrainerSpec& spec) {
  if (spec.training_data == nullptr || spec.training.batch_size <= 0) {
    return InvalidArgument("training needs data and a positive batch size");
  }
  SPILLWAY_RETURN_IF_ERROR(CheckFields(
      *spec.training_data, FieldsOf(spec.training).size(), "training data"));
  const int64_t rows = spec.training_data->size();
  if (!spec.plan) {
    if (rows < spec.training.batch_size) {
      return InvalidArgument(fmt::format(
          "the training data has {} samples, fewer than one batch of {}", rows,
          spec.training.batch_size));
    }
    return MicroBatchPlan::Create({.rows = rows,
                                   .batch_size = spec.training.batch_size,
                                   .tail = Tail::kDrop});
  }
  if (spec.plan->spec().rows != rows) {
    return InvalidArgument(
        fmt::format("the plan is for {}, but the training data has {}",
                    Counted(spec.plan->spec().rows, "row"), rows));
  }
  return *spec.plan;
}

// The plan is for the ranks that there are.
absl::Status CheckRankCount(const TrainerSpec& spec,
                            const MicroBatchPlan& plan) {
  const int ranks = WorldSizeOf(spec.communicator);
  if (plan.workers() == ranks) return absl::OkStatus();
  return InvalidArgument(fmt::format("the plan is for {}, but there are {}",
                                     Counted(plan.workers(), "rank"), ranks));
}

}  // namespace

std::vector<ValueId> FieldsOf(const TrainingProgram& program) {
  std::vector<ValueId> fields;
  for (const ValueId id : {program.images, program.labels}) {
    if (id.is_valid()) fields.push_back(id);
  }
  fields.insert(fields.end(), program.more_fields.begin(),
                program.more_fields.end());
  return fields;
}

const TrainingProgram* ProgramFor(const TrainerSpec& spec, int64_t size) {
  if (spec.training.batch_size == size) return &spec.training;
  const auto found =
      std::ranges::find(spec.other_sizes, size, &TrainingProgram::batch_size);
  return found == spec.other_sizes.end() ? nullptr : &*found;
}

std::optional<uint64_t> ShuffleSeed(const TrainerSpec& spec) {
  if (!spec.shuffle) return std::nullopt;
  return spec.shuffle_seed;
}

absl::StatusOr<CheckedTraining> CheckTrainer(const Session& session,
                                             const TrainerSpec& spec) {
  SPILLWAY_ASSIGN_OR_RETURN(const MicroBatchPlan plan, PlanOf(spec));
  SPILLWAY_RETURN_IF_ERROR(CheckRankCount(spec, plan));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t num_updates,
                            plan.Updates(spec.length));
  SPILLWAY_RETURN_IF_ERROR(CheckStart(spec, plan, num_updates));
  SPILLWAY_RETURN_IF_ERROR(CheckPrograms(session, spec, plan));
  for (const Dataset* data : {spec.test_data, spec.validation_data}) {
    if (data == nullptr) continue;
    SPILLWAY_RETURN_IF_ERROR(CheckEvaluation(session, spec.evaluation, *data));
  }
  return CheckedTraining{.plan = plan, .num_updates = num_updates};
}

}  // namespace spillway
