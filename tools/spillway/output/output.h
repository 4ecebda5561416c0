// What a command writes: text on stdout, a JSON result, other files. Whatever
// cannot be written is the caller's mistake (exit status 2), not ours.
//
// Results come before files: text is printed first, then each file is
// attempted whatever became of the others, and failures are reported last. So a
// full disk after hours of work costs only what was to lie on it.
//
//   Outputs outputs(flags.result, {{"--trace", flags.trace}});
//   SPILLWAY_RETURN_IF_ERROR(outputs.Check());  // before the work
//   ...
//   outputs.Print(text);
//   outputs.WriteJson(json);
//   outputs.Write("--trace", [&] { return FormatChromeTrace(...); });
//   return outputs.Finish();
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_OUTPUT_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_OUTPUT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tools/spillway/flags/flags.h"

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
// no other text. For what is printed before long work, where an error should
// end the command.
absl::Status PrintText(const ResultFlags& result, std::string_view text);

// "spillway: `message`" as one line on stderr, whatever the message holds.
void ReportError(const absl::Status& status);

// An output file and the flag that named it. An empty path: not wanted.
struct OutputFile {
  std::string_view flag = {};
  std::string path = {};
};

// One command's outputs. Files are replaced as a whole or not at all. Not for
// several threads at once.
class Outputs {
 public:
  Outputs(ResultFlags result, std::vector<OutputFile> files);

  // Whether the JSON result and all files could be written now, found without
  // touching anything. A disk may still fill up after it. Errors:
  // FAILED_PRECONDITION naming flag, path and reason of the first that cannot.
  absl::Status Check() const;

  // The functions below keep what fails for Finish.

  // As PrintText.
  void Print(std::string_view text);

  // Writes the JSON result where --json says, if anywhere.
  void WriteJson(const Json& json);

  // Writes what `content` makes to the file of `flag`, one of the constructor's
  // (CHECKed). `content` is not called if the file is not wanted.
  void Write(std::string_view flag,
             absl::FunctionRef<absl::StatusOr<std::string>()> content);

  // The same for a file that other code writes.
  void WriteWith(std::string_view flag,
                 absl::FunctionRef<absl::Status(const std::string&)> write);

  // How the command ends: `outcome`, its own end, if everything was written.
  // Else reports `outcome`, unless it is OK, and all failures but the last on
  // stderr, and returns the last: FAILED_PRECONDITION naming flag, file and
  // reason, or stdout and reason; what `content` said, with the flag.
  absl::Status Finish(const absl::Status& outcome = absl::OkStatus());

 private:
  const OutputFile& FileOf(std::string_view flag) const;
  void KeepPrinted(const absl::Status& status);

  ResultFlags result_;
  std::vector<OutputFile> files_;
  bool stdout_failed_ = false;  // which is told once
  std::vector<absl::Status> failures_;
};

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_OUTPUT_H_
