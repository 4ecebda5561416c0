#include "tools/spillway/exit_status.h"

#include <string>

#include "absl/strings/cord.h"

namespace spillway {
namespace {

constexpr char kExitStatusPayload[] = "spillway/exit_status";

}  // namespace

absl::Status WithExitStatus(absl::Status error, int exit_status) {
  const auto byte = static_cast<char>(exit_status);
  error.SetPayload(kExitStatusPayload, absl::Cord(std::string(1, byte)));
  return error;
}

std::optional<int> ExitStatusOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kExitStatusPayload);
  if (!payload || payload->size() != 1) return std::nullopt;
  return static_cast<unsigned char>((*payload)[0]);
}

}  // namespace spillway
