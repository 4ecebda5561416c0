// Updates of several micro-batches or ranks, each as one call.
#ifndef SPILLWAY_PYTHON_MODULE_RUNNING_UPDATES_H_
#define SPILLWAY_PYTHON_MODULE_RUNNING_UPDATES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/trace/timeline.h"
#include "executor/session/session.h"
#include "python/module/graph/step.h"
#include "training/loop/training_state.h"
#include "training/trainer.h"

namespace spillway::python {

struct UpdateResult {
  StepProgress progress = {};
  StepResult last_step = {};  // of this rank's last micro-batch
};

// For a step that trains, and its session. Needs no GIL. All ranks make the
// same calls; after an error of one, those of the others fail.
class Updates {
 public:
  // Borrows the step.
  explicit Updates(const Step& step);

  // Of several ranks: they agree on what they train, and get the variables of
  // rank 0.
  absl::Status Begin(Session& session);

  // `fields`: of the step's data inputs, in their order, the rows of all
  // micro-batches. `rate`: of a step that is fed one.
  absl::StatusOr<UpdateResult> Run(Session& session,
                                   const std::vector<TensorView>& fields,
                                   std::optional<double> rate,
                                   Timeline* timeline);

  int64_t Done(const Session& session) const;

  // A checkpoint of all ranks, in a file that rank 0 reads and writes.
  absl::Status Save(Session& session, const std::string& path) const;
  // nullopt: there is no such file, and it need not be.
  absl::StatusOr<std::optional<TrainingState>> Load(Session& session,
                                                    const std::string& path,
                                                    bool must_exist) const;

 private:
  const StepTraining& training() const { return *step_.training; }
  Communicator* communicator() const { return training().communicator(); }
  // Rank 0's, on all ranks.
  absl::Status Share(const absl::Status& status) const;
  absl::Status ShareSession(Session& session) const;

  const Step& step_;
  MicroBatchPlan plan_;  // of one update
  TrainerSpec spec_;
};

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_RUNNING_UPDATES_H_
