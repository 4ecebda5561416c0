// The evaluation of a network over a dataset.
#ifndef SPILLWAY_TRAINING_LOOP_EVALUATION_H_
#define SPILLWAY_TRAINING_LOOP_EVALUATION_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/stop_request.h"
#include "comm/communicator.h"
#include "executor/session/session.h"
#include "training/data/dataset.h"

namespace spillway {

// Values of the evaluation graph.
struct EvaluationProgram {
  int program = 1;  // in the session
  int64_t batch_size = 0;
  ValueId images = {};  // fed
  ValueId labels = {};  // fed
  // Fetched, bool [answers]: as many for each sample, those of the first sample
  // first.
  ValueId correct = {};
  // Fetched, the same for the k largest logits; invalid: not asked for.
  ValueId in_top_k = {};
  ValueId loss = {};  // fetched, the mean over a batch; invalid: none
};

struct EvaluationResult {
  double accuracy = 0;  // the part of the answers that is correct
  std::optional<double> top_k_accuracy = {};  // with in_top_k
  // Mean over the samples; nullopt: the program has no loss, or the last batch
  // is filled up, so that its mean has other samples too.
  std::optional<double> loss = {};
};

// INVALID_ARGUMENT, which begins with `what`, unless the data has so many
// fields.
absl::Status CheckFields(const Dataset& data, size_t count, const char* what);

// INVALID_ARGUMENT if `program` and `data` cannot be evaluated.
absl::Status CheckEvaluation(const Session& session,
                             const EvaluationProgram& program,
                             const Dataset& data);

// INVALID_ARGUMENT if there is no program `program`, or it does not fetch `id`,
// named `what`.
absl::Status CheckFetched(const Session& session, int program, ValueId id,
                          const char* what);

// INVALID_ARGUMENT unless the fetch `id`, named `what`, is a float32 scalar.
absl::StatusOr<double> FetchedScalar(const StepResult& step, ValueId id,
                                     const char* what);

// Every sample counts once. nullopt: `stop`, asked between batches, ended it
// before the last one. Errors: those of the steps and the data.
absl::StatusOr<std::optional<EvaluationResult>> EvaluateUntil(
    const StopRequest& stop, Session& session, const EvaluationProgram& program,
    const Dataset& data);

// The same by all ranks of a run, with the same variables: rank r of W takes
// the batches r, r + W, ... The result, on all ranks, is that of one, bit for
// bit. Requires: the batch size and the data are the same. Errors: also those
// of the communicator.
absl::StatusOr<EvaluationResult> EvaluateTogether(
    Communicator& communicator, Session& session,
    const EvaluationProgram& program, const Dataset& data);

// The accuracy alone. Errors: as for
// the functions above.
absl::StatusOr<double> Evaluate(Session& session,
                                const EvaluationProgram& program,
                                const Dataset& data);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_LOOP_EVALUATION_H_
