#include "tools/spillway/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

constexpr std::string_view kStdout = "-";

std::string SystemReason(int error) {
  return std::generic_category().message(error);
}

// "out/" of "out/x.json"; "." of "x.json".
std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Returns 0 or the errno that writing `path` would meet.
int WritingError(const std::string& path) {
  struct stat target = {};
  if (stat(path.c_str(), &target) == 0) {
    if (S_ISDIR(target.st_mode)) return EISDIR;
    if (faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) return errno;
    if (!S_ISREG(target.st_mode)) return 0;  // written in place
  } else if (errno != ENOENT) {
    return errno;
  }
  if (path.ends_with('/')) return EISDIR;
  const std::string folder = FolderOf(path);
  return faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0
             ? 0
             : errno;
}

}  // namespace

void AddResultFlags(FlagSet& flags, ResultFlags& result) {
  flags.BeginGroup("Results");
  flags.File("--json", result.json,
             "write the result as JSON to this file, or to stdout (-)");
}

absl::Status Print(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return absl::OkStatus();
  return FailedPrecondition(
      fmt::format("cannot write standard output: {}", SystemReason(errno)));
}

absl::Status PrintText(const ResultFlags& result, std::string_view text) {
  return result.json == kStdout ? absl::OkStatus() : Print(text);
}

absl::Status WriteJson(const ResultFlags& result, const Json& json) {
  const std::string text = FormatJson(json);
  if (result.json == kStdout) return Print(text);
  return WriteOutput({.flag = "--json", .path = result.json}, text);
}

absl::Status CheckWritable(const OutputFile& file) {
  if (file.path.empty()) return absl::OkStatus();
  const int error = WritingError(file.path);
  if (error == 0) return absl::OkStatus();
  return FailedPrecondition(fmt::format("{}: cannot write {}: {}", file.flag,
                                        file.path, SystemReason(error)));
}

absl::Status CheckWritable(const ResultFlags& result) {
  if (result.json == kStdout) return absl::OkStatus();
  return CheckWritable({.flag = "--json", .path = result.json});
}

absl::Status WriteOutput(const OutputFile& file, std::string_view content) {
  if (file.path.empty()) return absl::OkStatus();
  return OutputStatus(file, WriteFileAtomically(file.path, content));
}

absl::Status OutputStatus(const OutputFile& file, const absl::Status& status) {
  if (status.ok()) return status;
  const auto message = status.message();
  return FailedPrecondition(fmt::format(
      "{}: {}", file.flag, std::string_view(message.data(), message.size())));
}

}  // namespace spillway
