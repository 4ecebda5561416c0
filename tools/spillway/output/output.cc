#include "tools/spillway/output/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "tools/spillway/output/progress.h"

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

// Returns 0, or the errno with which writing `path` would fail.
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

absl::Status CheckWritable(const OutputFile& file) {
  if (file.path.empty()) return absl::OkStatus();
  const int error = WritingError(file.path);
  if (error == 0) return absl::OkStatus();
  return FailedPrecondition(fmt::format("{}: cannot write {}: {}", file.flag,
                                        file.path, SystemReason(error)));
}

OutputFile JsonFile(const ResultFlags& result) {
  return {.flag = "--json", .path = result.json};
}

// The status for a file that was not written, for any reason.
absl::Status FailureOf(std::string_view flag, const absl::Status& status) {
  const std::string message(status.message());
  return FailedPrecondition(fmt::format("{}: {}", flag, message));
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

void ReportError(const absl::Status& status) {
  std::string message(status.message());
  std::ranges::replace(message, '\n', ' ');
  ClearProgress();
  fmt::print(stderr, "spillway: {}\n", message);
}

Outputs::Outputs(ResultFlags result, std::vector<OutputFile> files)
    : result_(std::move(result)), files_(std::move(files)) {}

absl::Status Outputs::Check() const {
  for (const OutputFile& file : files_) {
    SPILLWAY_RETURN_IF_ERROR(CheckWritable(file));
  }
  if (result_.json == kStdout) return absl::OkStatus();
  return CheckWritable(JsonFile(result_));
}

void Outputs::Keep(const absl::Status& status) {
  if (!status.ok()) failures_.push_back(status);
}

void Outputs::Print(std::string_view text) {
  if (is_silent_) return;
  KeepPrinted(PrintText(result_, text));
}

void Outputs::WriteJson(const Json& json) {
  if (result_.json.empty() || is_silent_) return;
  const std::string text = FormatJson(json);
  if (result_.json == kStdout) {
    KeepPrinted(spillway::Print(text));
    return;
  }
  const OutputFile file = JsonFile(result_);
  const absl::Status status = WriteFileAtomically(file.path, text);
  if (!status.ok()) failures_.push_back(FailureOf(file.flag, status));
}

void Outputs::Write(std::string_view flag,
                    absl::FunctionRef<absl::StatusOr<std::string>()> content) {
  if (FileOf(flag).path.empty()) return;
  const absl::StatusOr<std::string> text = content();
  if (!text.ok()) {
    failures_.push_back(Annotate(text.status(), flag));
    return;
  }
  WriteWith(flag, [&](const std::string& path) {
    return WriteFileAtomically(path, *text);
  });
}

void Outputs::WriteWith(
    std::string_view flag,
    absl::FunctionRef<absl::Status(const std::string&)> write) {
  const OutputFile& file = FileOf(flag);
  if (file.path.empty()) return;
  const absl::Status status = write(file.path);
  if (!status.ok()) failures_.push_back(FailureOf(flag, status));
}

absl::Status Outputs::Finish(const absl::Status& outcome) {
  if (failures_.empty()) return outcome;
  if (!outcome.ok()) ReportError(outcome);
  for (size_t i = 0; i + 1 < failures_.size(); ++i) ReportError(failures_[i]);
  return failures_.back();
}

const OutputFile& Outputs::FileOf(std::string_view flag) const {
  const auto file = std::ranges::find(files_, flag, &OutputFile::flag);
  SPILLWAY_CHECK(file != files_.end());
  return *file;
}

void Outputs::KeepPrinted(const absl::Status& status) {
  if (status.ok() || stdout_failed_) return;
  stdout_failed_ = true;
  failures_.push_back(status);
}

}  // namespace spillway
