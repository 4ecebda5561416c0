// Parses JSON text and files into StatusOr<json>. Only this file catches the
// JSON library's exceptions; the rest of the code checks kinds before it reads.
#ifndef SPILLWAY_BASE_JSON_H_
#define SPILLWAY_BASE_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace spillway {

// `source` names the text in errors: a path, or "<string>". Errors:
// INVALID_ARGUMENT with line, column and what was expected; also for text that
// nests deeper than 64 levels and for duplicate keys of one object.
absl::StatusOr<nlohmann::ordered_json> ParseJson(std::string_view text,
                                                 std::string_view source);

// Serialised with two spaces of indent and a final newline. Bytes that are not
// UTF-8 are replaced, so this cannot fail.
std::string FormatJson(const nlohmann::ordered_json& json);

}  // namespace spillway

#endif  // SPILLWAY_BASE_JSON_H_
