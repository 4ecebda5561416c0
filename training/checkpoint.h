// Checkpoints: the state of a session in a safetensors file. All variables,
// optimizer slots included, under their node names; the programs' step numbers
// in the file's metadata, as "spillway.step_numbers": "[1200, 10]".
#ifndef SPILLWAY_TRAINING_CHECKPOINT_H_
#define SPILLWAY_TRAINING_CHECKPOINT_H_

#include <string>

#include "absl/status/status.h"
#include "executor/session/session.h"

namespace spillway {

// Errors: FAILED_PRECONDITION while the variables are undefined; errors of
// WriteSafetensors. On error, an older file stays unchanged.
absl::Status SaveCheckpoint(Session& session, const std::string& path);

// Overwrites every variable and step number, so that a session of the same
// graphs and seed continues as the saved one would have, bitwise identically.
// Step numbers belong to the programs in order. Programs beyond those of the
// file have step number 0, as have all programs if the file has no step numbers
// (an older file, or one from another writer). Also clears the error state of
// the session (executor/session/session.h). Errors: INVALID_ARGUMENT naming a
// variable that only the file or only the session has, or whose types differ,
// and for invalid step numbers; nothing is written then.
absl::Status LoadCheckpoint(const std::string& path, Session& session);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_CHECKPOINT_H_
