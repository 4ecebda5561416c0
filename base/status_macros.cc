#include "base/status_macros.h"

#include <string>

#include "absl/strings/cord.h"
#include "fmt/format.h"

namespace spillway {
namespace {

absl::Status MakeStatus(absl::StatusCode code, std::string_view message) {
  return absl::Status(code, absl::string_view(message.data(), message.size()));
}

}  // namespace

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  const std::string message(status.message());
  return WithMessage(status, fmt::format("{}: {}", context, message));
}

absl::Status WithMessage(const absl::Status& status, std::string_view message) {
  absl::Status changed = MakeStatus(status.code(), message);
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    changed.SetPayload(type, payload);
  });
  return changed;
}

absl::Status InvalidArgument(std::string_view message) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, message);
}

absl::Status FailedPrecondition(std::string_view message) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition, message);
}

absl::Status ResourceExhausted(std::string_view message) {
  return MakeStatus(absl::StatusCode::kResourceExhausted, message);
}

absl::Status Unavailable(std::string_view message) {
  return MakeStatus(absl::StatusCode::kUnavailable, message);
}

absl::Status Unimplemented(std::string_view message) {
  return MakeStatus(absl::StatusCode::kUnimplemented, message);
}

absl::Status Internal(std::string_view message) {
  return MakeStatus(absl::StatusCode::kInternal, message);
}

absl::Status NotFound(std::string_view message) {
  return MakeStatus(absl::StatusCode::kNotFound, message);
}

absl::Status OutOfRange(std::string_view message) {
  return MakeStatus(absl::StatusCode::kOutOfRange, message);
}

}  // namespace spillway
