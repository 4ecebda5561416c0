// Variables of which each rank of a run has its own values, on their way to
// rank 0, which saves them, and back.
#ifndef SPILLWAY_TRAINING_WORKERS_RANK_VARIABLES_H_
#define SPILLWAY_TRAINING_WORKERS_RANK_VARIABLES_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "executor/session/session.h"
#include "training/safetensors.h"

namespace spillway {

// On rank 0, those of the ranks from 1 on; empty on others. All ranks call it
// with the same names, of float32 variables. Errors: those of session and
// communicator.
absl::StatusOr<std::vector<TensorMap>> GatherRankVariables(
    Session& session, Communicator& communicator,
    std::span<const std::string> names);

// Each rank's <- its own of `others`, which matters on rank 0 alone, and was
// gathered there. Of another number of ranks, all get the mean: what residuals
// still have to add is then the same, and averaged variables are nearer to each
// other. Does nothing if `others` is empty. Errors: as above.
absl::Status ScatterRankVariables(Session& session, Communicator& communicator,
                                  std::span<const std::string> names,
                                  std::span<const TensorMap> others);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_WORKERS_RANK_VARIABLES_H_
