// Checkpoints: all variables of a session, optimizer slots included, in a
// safetensors file under their node names.
#ifndef SPILLWAY_TRAINING_CHECKPOINT_H_
#define SPILLWAY_TRAINING_CHECKPOINT_H_

#include <string>

#include "absl/status/status.h"
#include "executor/session.h"

namespace spillway {

// Errors: what WriteSafetensors says; an older file then stays as it was.
absl::Status SaveCheckpoint(Session& session, const std::string& path);

// Overwrites every variable. Errors: INVALID_ARGUMENT naming the variable that
// only one of file and session has, or whose types differ; nothing is written
// then.
absl::Status LoadCheckpoint(const std::string& path, Session& session);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_CHECKPOINT_H_
