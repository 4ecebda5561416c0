// What a command writes: text on stdout, a JSON result, other files. Whatever
// cannot be written is the caller's mistake (exit status 2), not ours.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "tools/spillway/flags.h"

namespace spillway {

using Json = nlohmann::ordered_json;

struct ResultFlags {
  std::string json = {};  // a file, "-" for stdout, or empty
};
void AddResultFlags(FlagSet& flags, ResultFlags& result);

// Writes `text` to stdout at once, so that a reader of a pipe sees it and a
// full disk is noticed. Errors: FAILED_PRECONDITION with the system's reason.
absl::Status Print(std::string_view text);

// The same, but nothing when the JSON result goes to stdout, which then carries
// no other text.
absl::Status PrintText(const ResultFlags& result, std::string_view text);

// Writes the JSON result where --json says, if anywhere.
absl::Status WriteJson(const ResultFlags& result, const Json& json);

// An output file and the flag that named it. An empty path: not wanted.
struct OutputFile {
  std::string_view flag = {};
  const std::string& path;
};

// Whether the file could be written now, found without touching anything.
// Called before long work; a disk may still fill up after it. Errors:
// FAILED_PRECONDITION naming flag, path and reason.
absl::Status CheckWritable(const OutputFile& file);
absl::Status CheckWritable(const ResultFlags& result);

// Replaces the file atomically, if it is wanted. Errors: as CheckWritable.
absl::Status WriteOutput(const OutputFile& file, std::string_view content);

// `status` of having written `file`, with the code and the flag that the
// functions above use.
absl::Status OutputStatus(const OutputFile& file, const absl::Status& status);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_H_
