#include "comm/launch/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/status_macros.h"
#include "comm/launch/file_descriptor.h"
#include "comm/launch/launch_signals.h"
#include "comm/launch/line_queue.h"
#include "comm/launch/rank_group.h"
#include "fmt/format.h"

namespace spillway {
namespace {

// Descriptors beside those of the ranks.
constexpr rlim_t kOtherFiles = 64;

// `name`: of the field of LaunchSpec
absl::Status PrepareFolder(std::string_view name, const std::string& path) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  if (!exists && !error) std::filesystem::create_directory(path, error);
  // The slash: a file is no folder.
  if (!error && access((path + "/").c_str(), W_OK | X_OK) != 0) {
    error = std::error_code(errno, std::generic_category());
  }
  if (!error) return absl::OkStatus();
  return FailedPrecondition(fmt::format("{}: {} cannot be written: {}",
                                        std::string(name), path,
                                        error.message()));
}

// Where ranks find each other. A temporary folder lives as long as this.
class RunFolder {
 public:
  RunFolder() = default;
  ~RunFolder() {
    std::error_code ignored;
    if (is_temporary_) std::filesystem::remove_all(path_, ignored);
  }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }

  absl::Status Prepare(const std::string& given) {
    std::error_code error;
    if (!given.empty()) {
      path_ = std::filesystem::absolute(given, error).string();
      return PrepareFolder("run_folder", given);
    }
    path_ = (std::filesystem::temp_directory_path(error) / "spillway-XXXXXX")
                .string();
    is_temporary_ = !error && mkdtemp(path_.data()) != nullptr;  // mode 0700
    if (is_temporary_) return absl::OkStatus();
    return FailedPrecondition(
        fmt::format("no temporary folder for the run can be made: {}; name "
                    "one with run_folder",
                    error ? error.message() : strerror(errno)));
  }

 private:
  std::string path_;
  bool is_temporary_ = false;
};

// Lets this process open enough files, if it may, until the end of its life.
class OpenFilesLimit {
 public:
  OpenFilesLimit() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~OpenFilesLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  OpenFilesLimit(const OpenFilesLimit&) = delete;
  OpenFilesLimit& operator=(const OpenFilesLimit&) = delete;

  const rlimit& before() const { return before_; }

  absl::Status Raise(rlim_t files) const {
    if (files <= before_.rlim_cur) return absl::OkStatus();
    const rlimit raised = {.rlim_cur = files, .rlim_max = before_.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) return absl::OkStatus();
    return FailedPrecondition(
        fmt::format("so many ranks need {} open files, and this process may "
                    "have {} (ulimit -n)",
                    files, before_.rlim_max));
  }

 private:
  rlimit before_ = {};
};

class Launcher {
 public:
  explicit Launcher(const LaunchSpec& spec) : spec_(spec) {}

  absl::StatusOr<LaunchResult> Run() {
    SPILLWAY_RETURN_IF_ERROR(Prepare());
    absl::StatusOr<LaunchResult> result = RunGroups();
    WriteTheRest();
    if (result.ok() && !queue_.status().ok()) return queue_.status();
    return result;
  }

 private:
  absl::Status Prepare();
  absl::Status OpenLogs();
  absl::StatusOr<LaunchResult> RunGroups();
  absl::StatusOr<std::optional<RankFailure>> RunGroup(int restart);
  LaunchResult Result(const std::optional<RankFailure>& failure,
                      int restarts) const;
  void WriteTheRest();

  const LaunchSpec& spec_;
  OpenFilesLimit open_files_;
  RunFolder run_folder_;
  std::vector<FileDescriptor> logs_;
  LineQueue queue_;
  std::unique_ptr<LaunchSignals> signals_;
};

absl::Status Launcher::Prepare() {
  if (spec_.ranks < 1) {
    return InvalidArgument(
        fmt::format("ranks: {} is less than 1", spec_.ranks));
  }
  if (spec_.command.empty()) return InvalidArgument("there is no command");
  const rlim_t files_of_rank = spec_.log_folder.empty() ? 2 : 3;
  SPILLWAY_RETURN_IF_ERROR(open_files_.Raise(
      kOtherFiles + files_of_rank * static_cast<rlim_t>(spec_.ranks)));
  SPILLWAY_RETURN_IF_ERROR(run_folder_.Prepare(spec_.run_folder));
  if (!spec_.log_folder.empty()) SPILLWAY_RETURN_IF_ERROR(OpenLogs());
  SPILLWAY_ASSIGN_OR_RETURN(signals_, LaunchSignals::Catch());
  return absl::OkStatus();
}

absl::Status Launcher::OpenLogs() {
  SPILLWAY_RETURN_IF_ERROR(PrepareFolder("log_folder", spec_.log_folder));
  for (int rank = 0; rank < spec_.ranks; ++rank) {
    const std::string path =
        fmt::format("{}/rank_{}.log", spec_.log_folder, rank);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    logs_.emplace_back(open(path.c_str(), kFlags, 0666));
    if (logs_.back().is_open()) continue;
    return FailedPrecondition(fmt::format(
        "log_folder: {} cannot be written: {}", path, strerror(errno)));
  }
  return absl::OkStatus();
}

bool MayRestartAfter(int exit_status) {
  return exit_status != 2 && exit_status != 3;
}

absl::StatusOr<LaunchResult> Launcher::RunGroups() {
  for (int restart = 0;; ++restart) {
    SPILLWAY_ASSIGN_OR_RETURN(const std::optional<RankFailure> failure,
                              RunGroup(restart));
    const bool is_over =
        !failure || signals_->first() != 0 || !queue_.status().ok() ||
        restart == spec_.max_restarts || !MayRestartAfter(failure->exit_status);
    if (is_over) return Result(failure, restart);
    queue_.Add(
        spec_.error,
        fmt::format("spillway: {}; all ranks are started again ({} of {})\n",
                    failure->reason, restart + 1, spec_.max_restarts));
  }
}

absl::StatusOr<std::optional<RankFailure>> Launcher::RunGroup(int restart) {
  RankGroupSpec spec = {.launch = &spec_,
                        .signals = signals_.get(),
                        .queue = &queue_,
                        .run_folder = run_folder_.path(),
                        .restart = restart,
                        .open_files = open_files_.before()};
  for (const FileDescriptor& log : logs_) spec.logs.push_back(log.fd());
  RankGroup group(spec);
  SPILLWAY_RETURN_IF_ERROR(group.Start());
  return group.Wait();
}

LaunchResult Launcher::Result(const std::optional<RankFailure>& failure,
                              int restarts) const {
  constexpr int kBadInputStatus = 2;
  LaunchResult result = {.restarts = restarts};
  const int signal = signals_->first();
  if (failure) {
    result.exit_status = failure->exit_status;
    result.reason = failure->reason;
    if (restarts > 0) {
      result.reason += fmt::format("; restarts: {}", restarts);
    } else if (spec_.max_restarts > 0 && !MayRestartAfter(result.exit_status)) {
      result.reason += ", which would come again";
    }
  }
  if (signal != 0 && result.exit_status != kBadInputStatus) {
    result.exit_status = 128 + signal;
    result.reason = fmt::format("interrupted by {}",
                                signal == SIGTERM ? "SIGTERM" : "SIGINT");
  }
  return result;
}

// Waits for a slow reader, but not after a signal that no rank waits for.
void Launcher::WriteTheRest() {
  const bool was_stopped = signals_->first() != 0;
  while (!queue_.is_empty()) {
    std::array<pollfd, 2> events = {
        {{.fd = queue_.next_fd(), .events = POLLOUT, .revents = 0},
         {.fd = signals_->wake_fd(), .events = POLLIN, .revents = 0}}};
    if (poll(events.data(), events.size(), -1) < 0) continue;
    if (events[0].revents != 0) queue_.WriteSome();
    if (events[1].revents != 0) signals_->ClearWake();
    if (was_stopped ? signals_->has_second() : signals_->first() != 0) {
      queue_.Clear();
    }
  }
}

}  // namespace

absl::StatusOr<LaunchResult> Launch(const LaunchSpec& spec) {
  return Launcher(spec).Run();
}

}  // namespace spillway
