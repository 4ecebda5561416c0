// Variables: the tensors of a session that outlive its steps, read and written
// through a stream.
#ifndef SPILLWAY_EXECUTOR_SESSION_VARIABLES_H_
#define SPILLWAY_EXECUTOR_SESSION_VARIABLES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/arena.h"
#include "executor/device/stream.h"
#include "executor/host_threads.h"
#include "executor/session/plan_programs.h"
#include "executor/session/session.h"

namespace spillway {

// Where the variables are; all borrowed for the call. Unless a function says
// otherwise, the stream is synchronised when it returns.
struct VariableAccess {
  const PlannedPrograms* programs = nullptr;
  Arena* device_arena = nullptr;
  Arena* host_arena = nullptr;
  Stream* stream = nullptr;
  HostThreads* threads = nullptr;  // for initial values; null: the caller's
  // Variables that are not part of the session's state are read and written
  // too.
  bool includes_unsaved = false;
};

struct BytesInArena {
  Space space = Space::kDevice;
  int64_t offset = 0;
  int64_t bytes = 0;
};

// Copies to memory of the caller, which has the bytes once the stream was
// synchronised.
absl::Status CopyToCaller(const VariableAccess& access,
                          const BytesInArena& from, std::byte* to);

// Gives variables and constants their initial values. Needs host memory for the
// largest of them while it runs.
absl::Status InitializeResidents(const VariableAccess& access, uint64_t seed);

// All variables by name.
absl::StatusOr<std::map<std::string, HostTensor>> CopyVariablesToHost(
    const VariableAccess& access);

// Errors: INVALID_ARGUMENT for an unknown name or another type.
absl::Status CheckVariableValues(
    const VariableAccess& access,
    const std::map<std::string, HostTensor>& values);

// `values` have passed CheckVariableValues. After an error the named variables
// are undefined.
absl::Status CopyVariablesToDevice(
    const VariableAccess& access,
    const std::map<std::string, HostTensor>& values);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SESSION_VARIABLES_H_
