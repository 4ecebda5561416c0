// An exit status of the program that the code of a Status does not determine.
#ifndef SPILLWAY_TOOLS_SPILLWAY_EXIT_STATUS_H_
#define SPILLWAY_TOOLS_SPILLWAY_EXIT_STATUS_H_

#include <optional>

#include "absl/status/status.h"

namespace spillway {

// `error`, with which the program ends with `exit_status` (1 to 255).
absl::Status WithExitStatus(absl::Status error, int exit_status);

// nullopt: the code of `status` determines it.
std::optional<int> ExitStatusOf(const absl::Status& status);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_EXIT_STATUS_H_
