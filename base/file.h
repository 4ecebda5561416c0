// Reads and writes whole files. Writing is atomic: a new file is written next
// to the old one, synced, and renamed over it, so no reader ever sees half a
// file, even after a crash.
#ifndef SPILLWAY_BASE_FILE_H_
#define SPILLWAY_BASE_FILE_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace spillway {

// Errors: NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT (a folder), INTERNAL
// (read error), each with the path and the system's reason.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Writes the concatenation of `pieces` to `path`. On any error (missing folder,
// no permission, full disk, short write) `path` is unchanged, no temporary file
// is left, and the Status names the path and the system's reason.
absl::Status WriteFileAtomically(const std::string& path,
                                 std::span<const std::string_view> pieces);
absl::Status WriteFileAtomically(const std::string& path,
                                 std::string_view content);

}  // namespace spillway

#endif  // SPILLWAY_BASE_FILE_H_
