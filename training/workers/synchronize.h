// What the ranks of a run agree on, outside of the steps.
#ifndef SPILLWAY_TRAINING_WORKERS_SYNCHRONIZE_H_
#define SPILLWAY_TRAINING_WORKERS_SYNCHRONIZE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "executor/session/session.h"
#include "training/loop/training_state.h"

namespace spillway {

// How a training of several ranks begins. Apache SINGA averages, which shrinks
// the deviation of random values by the square root of the number of ranks.
enum class InitSync : uint8_t {
  kBroadcast,  // all variables are those of rank 0
  kAverage,    // float32 variables are the mean over the ranks, others rank 0's
  kCheck,      // ABORTED unless they are the same already
};

// All variables of the session, with any communicator that all ranks call this
// with. Errors: ABORTED naming the first variable that differs (its name, type,
// or with kCheck its bytes); errors of session and communicator.
absl::Status SynchronizeVariables(Session& session, Communicator& communicator,
                                  InitSync how);

// What is done already, as rank 0 knows it; on other ranks without the text of
// its rows, which they know, and without other_ranks (ScatterRankVariables).
absl::StatusOr<TrainingState> BroadcastState(const TrainingState& own,
                                             Communicator& communicator);

// The named variables <- those of rank 0. Nothing is read or sent for none.
absl::Status BroadcastVariables(Session& session, Communicator& communicator,
                                std::span<const std::string> names);

// ABORTED naming the first variable whose bytes differ between ranks, but for
// those of `except`.
absl::Status CheckReplicas(Session& session, Communicator& communicator,
                           std::span<const std::string> except);

// ABORTED, naming the first item that differs from rank 0's and both texts,
// unless all ranks give the same items. Sends 8 bytes if they do.
absl::Status CheckAgreement(Communicator& communicator,
                            std::span<const std::string> items);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_WORKERS_SYNCHRONIZE_H_
