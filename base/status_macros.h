// SPILLWAY_RETURN_IF_ERROR and SPILLWAY_ASSIGN_OR_RETURN: pass a Status up to
// the caller.
#ifndef SPILLWAY_BASE_STATUS_MACROS_H_
#define SPILLWAY_BASE_STATUS_MACROS_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace spillway {

// `status` with `context` and ": " prepended to its message, and its payloads;
// OK stays OK.
absl::Status Annotate(const absl::Status& status, std::string_view context);

// `status`, which is an error, with another message, and its payloads.
absl::Status WithMessage(const absl::Status& status, std::string_view message);

// A Status of the given code from any text. (Debian's Abseil has its own
// string_view; this is the one place that converts.)
absl::Status InvalidArgument(std::string_view message);
absl::Status FailedPrecondition(std::string_view message);
absl::Status ResourceExhausted(std::string_view message);
absl::Status Unavailable(std::string_view message);
absl::Status Unimplemented(std::string_view message);
absl::Status Internal(std::string_view message);
absl::Status NotFound(std::string_view message);
absl::Status OutOfRange(std::string_view message);

}  // namespace spillway

#define SPILLWAY_RETURN_IF_ERROR(expression)                                \
  do {                                                                      \
    if (absl::Status spillway_status = (expression); !spillway_status.ok()) \
        [[unlikely]] {                                                      \
      return spillway_status;                                               \
    }                                                                       \
  } while (false)

#define SPILLWAY_CONCAT_INNER(a, b) a##b
#define SPILLWAY_CONCAT(a, b) SPILLWAY_CONCAT_INNER(a, b)

// SPILLWAY_ASSIGN_OR_RETURN(Graph graph, ReadGraph(path)); expands to several
// statements, so it needs its own braces inside an `if` or a loop. It also
// declares a variable named after __LINE__, so two uses in one line, or in one
// macro, need separate scopes.
#define SPILLWAY_ASSIGN_OR_RETURN(declaration, expression)                  \
  auto SPILLWAY_CONCAT(spillway_result_, __LINE__) = (expression);          \
  if (!SPILLWAY_CONCAT(spillway_result_, __LINE__).ok()) [[unlikely]] {     \
    return std::move(SPILLWAY_CONCAT(spillway_result_, __LINE__)).status(); \
  }                                                                         \
  declaration = *std::move(SPILLWAY_CONCAT(spillway_result_, __LINE__))

#endif  // SPILLWAY_BASE_STATUS_MACROS_H_
