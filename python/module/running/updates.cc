#include "python/module/running/updates.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/status_macros.h"
#include "training/checkpoint.h"
#include "training/loop/update_runner.h"
#include "training/workers/rank_variables.h"
#include "training/workers/synchronize.h"

namespace spillway::python {
namespace {

TrainerSpec SpecOf(const StepTraining& training) {
  return {.training = training.programs.training,
          .update = training.programs.update,
          .communicator = training.communicator(),
          .turns = training.programs.turns};
}

// The part of a field that micro-batch `index` of `count` has.
TensorView PartOf(const TensorView& field, int64_t index, int64_t count) {
  TensorView part = field;
  std::vector<int64_t> dims = field.type.shape.dims();
  dims[0] /= count;
  part.type.shape = Shape(dims);
  part.data =
      static_cast<const std::byte*>(field.data) + index * part.type.num_bytes();
  return part;
}

}  // namespace

Updates::Updates(const Step& step)
    : step_(step),
      plan_(training().PlanFor(training().micro_batches() * step.batch_size,
                               step.batch_size)),
      spec_(SpecOf(training())) {}

absl::Status Updates::Begin(Session& session) {
  if (!training().has_ranks()) return absl::OkStatus();
  absl::Status status =
      CheckAgreement(*communicator(), training().programs.agreement);
  if (status.ok()) {
    status =
        SynchronizeVariables(session, *communicator(), InitSync::kBroadcast);
  }
  if (!status.ok()) communicator()->Abort(status);
  return status;
}

absl::StatusOr<UpdateResult> Updates::Run(Session& session,
                                          const std::vector<TensorView>& fields,
                                          std::optional<double> rate,
                                          Timeline* timeline) {
  spec_.start.updates = Done(session);
  spec_.learning_rate = nullptr;
  if (rate) spec_.learning_rate = [&](int64_t /*update*/) { return *rate; };
  int64_t next = 0;
  const auto next_batch = [&]() -> absl::StatusOr<std::vector<TensorView>> {
    std::vector<TensorView> parts;
    for (const TensorView& field : fields) {
      parts.push_back(PartOf(field, next, training().accumulate));
    }
    ++next;
    return parts;
  };
  UpdateRunner runner(session, spec_, plan_);
  UpdateResult result;
  const absl::Status status = runner.Run(
      {.next_batch = next_batch, .timeline = timeline}, result.progress);
  if (!status.ok() && training().has_ranks()) communicator()->Abort(status);
  SPILLWAY_RETURN_IF_ERROR(status);
  result.last_step = runner.last_step();
  return result;
}

// The step number of the first program is that of its last micro-batch, among
// those of all ranks, plus one.
int64_t Updates::Done(const Session& session) const {
  const int64_t each = training().micro_batches();
  return (session.step_numbers()[0] + each - 1) / each;
}

absl::Status Updates::Share(const absl::Status& status) const {
  if (!training().has_ranks()) return status;
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::vector<std::string> messages,
      communicator()->AllGatherText(status.ok() ? "" : status.ToString()));
  if (!status.ok() || messages[0].empty()) return status;
  return FailedPrecondition("rank 0: " + messages[0]);
}

// Variables and step numbers <- those of rank 0.
absl::Status Updates::ShareSession(Session& session) const {
  SPILLWAY_RETURN_IF_ERROR(
      SynchronizeVariables(session, *communicator(), InitSync::kBroadcast));
  std::vector<int64_t> numbers = session.step_numbers();
  SPILLWAY_RETURN_IF_ERROR(communicator()->Broadcast(
      numbers.data(), static_cast<int64_t>(numbers.size() * sizeof(int64_t)),
      0));
  return session.SetStepNumbers(numbers);
}

absl::Status Updates::Save(Session& session, const std::string& path) const {
  if (!training().has_ranks()) return SaveCheckpoint(session, path);
  TrainingState state = {.updates = Done(session)};
  SPILLWAY_ASSIGN_OR_RETURN(
      state.other_ranks,
      GatherRankVariables(session, *communicator(),
                          training().programs.rank_variables));
  return Share(communicator()->rank() == 0
                   ? SaveCheckpoint(session, path, state)
                   : absl::OkStatus());
}

absl::StatusOr<std::optional<TrainingState>> Updates::Load(
    Session& session, const std::string& path, bool must_exist) const {
  std::optional<TrainingState> state;
  absl::Status status;
  if (!training().has_ranks() || communicator()->rank() == 0) {
    if (must_exist || std::filesystem::exists(path)) {
      absl::StatusOr<std::optional<TrainingState>> loaded =
          LoadCheckpoint(path, session);
      status = loaded.status();
      if (loaded.ok()) state = loaded->value_or(TrainingState());
    }
  }
  SPILLWAY_RETURN_IF_ERROR(Share(status));
  if (!training().has_ranks()) return state;
  SPILLWAY_ASSIGN_OR_RETURN(
      TrainingState shared,
      BroadcastState(state.value_or(TrainingState()), *communicator()));
  SPILLWAY_RETURN_IF_ERROR(ShareSession(session));
  SPILLWAY_RETURN_IF_ERROR(ScatterRankVariables(
      session, *communicator(), training().programs.rank_variables,
      shared.other_ranks));
  return shared;
}

}  // namespace spillway::python
