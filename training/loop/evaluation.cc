#include "training/loop/evaluation.h"

#include <algorithm>
#include <span>

#include "base/counted.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "training/data/batched.h"
#include "training/data/prefetched.h"

namespace spillway {
namespace {

// How many of the first `valid` answers of the step are right; 0 without an id.
absl::StatusOr<int64_t> CountCorrect(const StepResult& step, ValueId id,
                                     const EvaluationProgram& program,
                                     int64_t valid) {
  if (!id.is_valid()) return 0;
  SPILLWAY_ASSIGN_OR_RETURN(const HostTensor* correct, step.tensor(id));
  const TensorType flag_type = {.dtype = DType::kBool,
                                .shape = {program.batch_size}};
  if (correct->type != flag_type) {
    return InvalidArgument(fmt::format("the correct answers must be {}, not {}",
                                       flag_type.ToString(),
                                       correct->type.ToString()));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::span<const bool> flags,
                            correct->span<bool>());
  return std::ranges::count(flags.first(static_cast<size_t>(valid)), true);
}

}  // namespace

absl::Status CheckFields(const Dataset& data, const char* what) {
  SPILLWAY_RETURN_IF_ERROR(Annotate(data.status(), what));
  if (data.fields().size() == 2) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("{} has {}; the trainer needs images and labels", what,
                  Counted(data.fields().size(), "field")));
}

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

absl::StatusOr<double> FetchedScalar(const StepResult& step, ValueId id,
                                     const char* what) {
  SPILLWAY_ASSIGN_OR_RETURN(const HostTensor* tensor, step.tensor(id));
  const TensorType scalar = {.dtype = DType::kFloat32, .shape = Shape()};
  if (tensor->type == scalar) return step.scalar(id);
  return InvalidArgument(fmt::format("the {} must be a float32 scalar, not {}",
                                     what, tensor->type.ToString()));
}

absl::Status CheckEvaluation(const Session& session,
                             const EvaluationProgram& program,
                             const Dataset& data) {
  SPILLWAY_RETURN_IF_ERROR(CheckFields(data, "test data"));
  if (data.size() <= 0 || program.batch_size <= 0) {
    return InvalidArgument("evaluation needs data and a positive batch size");
  }
  SPILLWAY_RETURN_IF_ERROR(CheckFetched(session, program.program,
                                        program.correct, "correct answers"));
  if (program.in_top_k.is_valid()) {
    SPILLWAY_RETURN_IF_ERROR(CheckFetched(session, program.program,
                                          program.in_top_k, "top k answers"));
  }
  if (!program.loss.is_valid()) return absl::OkStatus();
  return CheckFetched(session, program.program, program.loss, "loss");
}

absl::StatusOr<std::optional<EvaluationResult>> EvaluateUntil(
    const StopRequest& stop, Session& session, const EvaluationProgram& program,
    const Dataset& data) {
  const Batched batches(
      data, {.batch_size = program.batch_size, .drop_remainder = false});
  Prefetched reader(batches);
  int64_t num_correct = 0;
  int64_t num_in_top_k = 0;
  double losses = 0;
  for (int64_t i = 0; i < batches.size(); ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(const Batch batch, reader.Next());
    SPILLWAY_ASSIGN_OR_RETURN(
        const StepResult step,
        session.Step(program.program,
                     {{program.images, batch[0]}, {program.labels, batch[1]}}));
    const int64_t valid = batches.valid_samples(i);
    SPILLWAY_ASSIGN_OR_RETURN(
        const int64_t correct,
        CountCorrect(step, program.correct, program, valid));
    SPILLWAY_ASSIGN_OR_RETURN(
        const int64_t in_top_k,
        CountCorrect(step, program.in_top_k, program, valid));
    num_correct += correct;
    num_in_top_k += in_top_k;
    if (program.loss.is_valid()) {
      SPILLWAY_ASSIGN_OR_RETURN(const double loss,
                                FetchedScalar(step, program.loss, "loss"));
      losses += loss;
    }
    if (i + 1 < batches.size() && StopRequested(stop)) return std::nullopt;
  }
  EvaluationResult result = {.accuracy = static_cast<double>(num_correct) /
                                         static_cast<double>(data.size())};
  if (program.in_top_k.is_valid()) {
    result.top_k_accuracy =
        static_cast<double>(num_in_top_k) / static_cast<double>(data.size());
  }
  if (program.loss.is_valid() && data.size() % program.batch_size == 0) {
    result.loss = losses / static_cast<double>(batches.size());
  }
  return result;
}

absl::StatusOr<double> Evaluate(Session& session,
                                const EvaluationProgram& program,
                                const Dataset& data) {
  SPILLWAY_RETURN_IF_ERROR(CheckEvaluation(session, program, data));
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<EvaluationResult> result,
                            EvaluateUntil(/*stop=*/{}, session, program, data));
  return result->accuracy;
}

}  // namespace spillway
