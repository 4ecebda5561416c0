#include "training/loop/evaluation.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "base/counted.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "training/data/batched.h"
#include "training/data/prefetched.h"

namespace spillway {
namespace {

// The answers to the first `valid` samples of the step.
absl::StatusOr<std::span<const bool>> Answers(const StepResult& step,
                                              ValueId id,
                                              const EvaluationProgram& program,
                                              int64_t valid) {
  SPILLWAY_ASSIGN_OR_RETURN(const HostTensor* correct, step.tensor(id));
  const TensorType& type = correct->type;
  if (type.dtype != DType::kBool || type.shape.rank() != 1 ||
      type.num_elements() % program.batch_size != 0) {
    return InvalidArgument(fmt::format(
        "the correct answers must be bool [{0}], or [{0} * k], not {1}",
        program.batch_size, type.ToString()));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::span<const bool> flags,
                            correct->span<bool>());
  const int64_t each = type.num_elements() / program.batch_size;
  return flags.first(static_cast<size_t>(each * valid));
}

// Of one batch. Ranks send it.
struct BatchResult {
  int64_t answers = 0;
  int64_t correct = 0;
  int64_t in_top_k = 0;
  double loss = 0;
};

// Of the next batch, whose first `valid` samples count.
absl::StatusOr<BatchResult> EvaluateNext(Session& session,
                                         const EvaluationProgram& program,
                                         int64_t valid, Prefetched& reader) {
  SPILLWAY_ASSIGN_OR_RETURN(const Batch batch, reader.Next());
  SPILLWAY_ASSIGN_OR_RETURN(
      const StepResult step,
      session.Step(program.program,
                   {{program.images, batch[0]}, {program.labels, batch[1]}}));
  BatchResult result;
  SPILLWAY_ASSIGN_OR_RETURN(const std::span<const bool> correct,
                            Answers(step, program.correct, program, valid));
  result.answers = std::ssize(correct);
  result.correct = std::ranges::count(correct, true);
  if (program.in_top_k.is_valid()) {
    SPILLWAY_ASSIGN_OR_RETURN(const std::span<const bool> in_top_k,
                              Answers(step, program.in_top_k, program, valid));
    result.in_top_k = std::ranges::count(in_top_k, true);
  }
  if (program.loss.is_valid()) {
    SPILLWAY_ASSIGN_OR_RETURN(result.loss,
                              FetchedScalar(step, program.loss, "loss"));
  }
  return result;
}

// Of all batches, in order.
EvaluationResult Sum(std::span<const BatchResult> batches,
                     const EvaluationProgram& program, int64_t samples) {
  BatchResult sum;
  for (const BatchResult& batch : batches) {
    sum.answers += batch.answers;
    sum.correct += batch.correct;
    sum.in_top_k += batch.in_top_k;
    sum.loss += batch.loss;
  }
  const auto all = static_cast<double>(sum.answers);
  EvaluationResult result = {.accuracy =
                                 static_cast<double>(sum.correct) / all};
  if (program.in_top_k.is_valid()) {
    result.top_k_accuracy = static_cast<double>(sum.in_top_k) / all;
  }
  if (program.loss.is_valid() && samples % program.batch_size == 0) {
    result.loss = sum.loss / static_cast<double>(batches.size());
  }
  return result;
}

}  // namespace

absl::Status CheckFields(const Dataset& data, size_t count, const char* what) {
  SPILLWAY_RETURN_IF_ERROR(Annotate(data.status(), what));
  if (data.fields().size() == count) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("{} has {}; the trainer needs {}", what,
                  Counted(data.fields().size(), "field"),
                  count == 2 ? "images and labels" : std::to_string(count)));
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
  SPILLWAY_RETURN_IF_ERROR(CheckFields(data, 2, "test data"));
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
  std::vector<BatchResult> results;
  for (int64_t i = 0; i < batches.size(); ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(
        const BatchResult result,
        EvaluateNext(session, program, batches.valid_samples(i), reader));
    results.push_back(result);
    if (i + 1 < batches.size() && StopRequested(stop)) return std::nullopt;
  }
  return Sum(results, program, data.size());
}

absl::StatusOr<EvaluationResult> EvaluateTogether(
    Communicator& communicator, Session& session,
    const EvaluationProgram& program, const Dataset& data) {
  const int64_t ranks = communicator.size();
  const Batched batches(data, {.batch_size = program.batch_size,
                               .drop_remainder = false,
                               .first = communicator.rank(),
                               .every = ranks});
  Prefetched reader(batches);
  const int64_t all =
      (data.size() + program.batch_size - 1) / program.batch_size;
  const int64_t each = (all + ranks - 1) / ranks;
  std::vector<BatchResult> own(static_cast<size_t>(each));
  for (int64_t i = 0; i < batches.size(); ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(
        own[static_cast<size_t>(i)],
        EvaluateNext(session, program, batches.valid_samples(i), reader));
  }
  std::vector<BatchResult> gathered(static_cast<size_t>(each * ranks));
  SPILLWAY_RETURN_IF_ERROR(
      communicator.AllGather(own.data(), gathered.data(),
                             each * static_cast<int64_t>(sizeof(BatchResult))));
  std::vector<BatchResult> results;
  for (int64_t batch = 0; batch < all; ++batch) {
    const int64_t at = batch % ranks * each + batch / ranks;
    results.push_back(gathered[static_cast<size_t>(at)]);
  }
  return Sum(results, program, data.size());
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
