// The output of a command: text on stdout, a JSON result, other files. An
// output that cannot be written is an input error (exit status 2), not an
// internal error.
//
// Results come before files: text is printed first, then each file is attempted
// even if others failed, and failures are reported last. So a full disk after
// hours of work loses only the files on that disk.
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

// Writes `text` to stdout and flushes, so that the reader of a pipe sees it at
// once and a full disk is noticed. Errors: FAILED_PRECONDITION with the
// system's reason.
absl::Status Print(std::string_view text);

// Print, but does nothing if the JSON result goes to stdout, which then has no
// other text. For text before long work, where an error should end the command.
absl::Status PrintText(const ResultFlags& result, std::string_view text);

// Prints "spillway: `message`" to stderr as one line, for any message.
void ReportError(const absl::Status& status);

// An output file and the flag that names it. Empty path: not requested.
struct OutputFile {
  std::string_view flag = {};
  std::string path = {};
};

// The outputs of one command. Each file is replaced as a whole or not at all.
// Not thread-safe.
class Outputs {
 public:
  Outputs(ResultFlags result, std::vector<OutputFile> files);

  // Whether the JSON result and all files could be written now; changes
  // nothing. A disk may still fill up afterwards. Errors: FAILED_PRECONDITION
  // naming flag, path and reason of the first that cannot be written.
  absl::Status Check() const;

  // From here on, text and the JSON result go nowhere: of a rank that is not
  // the first, for example.
  void Silence() { is_silent_ = true; }

  // The functions below keep their failures for Finish.

  void Keep(const absl::Status& status);

  // As PrintText.
  void Print(std::string_view text);

  // Writes the JSON result to the target of --json, if given.
  void WriteJson(const Json& json);

  // Writes the result of `content` to the file of `flag`, one of the
  // constructor's (CHECKed). Does not call `content` if the file is not
  // requested.
  void Write(std::string_view flag,
             absl::FunctionRef<absl::StatusOr<std::string>()> content);

  // The same for a file that `write` writes itself.
  void WriteWith(std::string_view flag,
                 absl::FunctionRef<absl::Status(const std::string&)> write);

  // The command's final status: `outcome` if everything was written. Else
  // prints `outcome`, unless it is OK, and all failures but the last to stderr,
  // and returns the last: FAILED_PRECONDITION naming flag, file and reason, or
  // stdout and reason; the error of `content`, with the flag.
  absl::Status Finish(const absl::Status& outcome = absl::OkStatus());

 private:
  const OutputFile& FileOf(std::string_view flag) const;
  void KeepPrinted(const absl::Status& status);

  ResultFlags result_;
  std::vector<OutputFile> files_;
  bool is_silent_ = false;
  bool stdout_failed_ = false;  // reported once
  std::vector<absl::Status> failures_;
};

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_OUTPUT_H_
