// Checkpoints: the state of a session in a safetensors file. All variables,
// optimizer slots included, under their node names; the programs' step numbers
// in the file's metadata, as "spillway.step_numbers": "[1200, 10]".
#ifndef SPILLWAY_TRAINING_CHECKPOINT_H_
#define SPILLWAY_TRAINING_CHECKPOINT_H_

#include <string>

#include "absl/status/status.h"
#include "executor/session/session.h"

namespace spillway {

// Errors: FAILED_PRECONDITION while the variables are undefined; what
// WriteSafetensors says. An older file then stays as it was.
absl::Status SaveCheckpoint(Session& session, const std::string& path);

// Overwrites every variable and step number, so that a session of the same
// graphs and seed goes on as the saved one would have, bit by bit. Step numbers
// belong to the programs in order; programs beyond the file's have step number
// 0, as have all with a file that states none (by another writer, or older).
// Also ends the state after an error (executor/session/session.h). Errors:
// INVALID_ARGUMENT naming the variable that only one of file and session has,
// or whose types differ, and for step numbers that are none; nothing is written
// then.
absl::Status LoadCheckpoint(const std::string& path, Session& session);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_CHECKPOINT_H_
