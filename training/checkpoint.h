// Checkpoints: the state of a session, and of a training, in a safetensors
// file. All variables, optimizer slots included, under their node names; in the
// file's metadata the programs' step numbers, as "spillway.step_numbers":
// "[1200, 10]", and the position of the training, as "spillway.training". What
// is different on other ranks of a run (TrainingState::other_ranks) comes
// under names such as "spillway.rank_1/conv1/weights".
#ifndef SPILLWAY_TRAINING_CHECKPOINT_H_
#define SPILLWAY_TRAINING_CHECKPOINT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "training/loop/training_state.h"

namespace spillway {

// `training`: nullopt for a session that does not train. Errors:
// FAILED_PRECONDITION while the variables are undefined; errors of
// WriteSafetensors. On error, an older file stays unchanged.
absl::Status SaveCheckpoint(Session& session, const std::string& path,
                            const std::optional<TrainingState>& training = {});

// Overwrites every variable and step number, so that a session of the same
// graphs and seed continues as the saved one would have, bitwise identically.
// Returns what SaveCheckpoint got. Step numbers belong to the programs in
// order. Programs beyond those of the file have step number 0, as have all
// programs if the file has no step numbers (an older file, or one from another
// writer). Also clears the error state of the session
// (executor/session/session.h). Errors: INVALID_ARGUMENT naming a variable that
// only the file or only the session has, or whose types differ, and for invalid
// metadata; nothing is written then.
absl::StatusOr<std::optional<TrainingState>> LoadCheckpoint(
    const std::string& path, Session& session);

// The variables of the file, those of rank 0, and nothing else of it. Errors:
// as LoadCheckpoint.
absl::Status LoadVariables(const std::string& path, Session& session);

// Saves a checkpoint as `path`, and keeps the `keep` - 1 files that had this
// name before as `path`.1 (the newest), `path`.2, ... Older ones are removed.
// At any time, a whole checkpoint has the name `path`, if one ever had, or
// `path`.1. Errors: as SaveCheckpoint; PERMISSION_DENIED and the like if a file
// cannot be renamed.
absl::Status RotateCheckpoint(Session& session, const std::string& path,
                              const std::optional<TrainingState>& training,
                              int64_t keep);

// The newest of `path`, `path`.1, ... that is a whole safetensors file; nullopt
// if there is none.
std::optional<std::string> NewestCheckpoint(const std::string& path);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_CHECKPOINT_H_
