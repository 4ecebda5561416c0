#include "tools/spillway/command/launch_command.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/status_macros.h"
#include "comm/launch/launch.h"
#include "fmt/format.h"
#include "tools/spillway/exit_status.h"

namespace spillway {
namespace {

constexpr int64_t kMaxRanks = 1024;
constexpr double kMaxGraceSeconds = 86400;

// `--resume auto` or `--resume=auto`.
bool ResumesByItself(const std::vector<std::string>& command) {
  for (size_t i = 0; i < command.size(); ++i) {
    if (command[i] == "--resume=auto") return true;
    if (command[i] == "--resume" && i + 1 < command.size() &&
        command[i + 1] == "auto") {
      return true;
    }
  }
  return false;
}

void CheckRankCommand(const LaunchFlags& flags) {
  const std::vector<std::string>& command = flags.command;
  if (command.empty()) {
    Refuse(
        "there is no command for the ranks; it follows --: spillway launch -n "
        "2 -- train ...");
  }
  if (command.front() != "train" && command.front() != "bench") {
    Refuse(
        fmt::format("ranks run train or bench, not \"{}\"", command.front()));
  }
  if (flags.max_restarts > 0 &&
      (command.front() != "train" || !ResumesByItself(command))) {
    RefuseFlag("--max_restarts",
               "a restart would begin from nothing; it needs train with "
               "--checkpoint and --resume auto");
  }
}

absl::StatusOr<std::string> ThisProgram() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return path.string();
  return FailedPrecondition(fmt::format(
      "/proc/self/exe does not name this program: {}", error.message()));
}

}  // namespace

void AddLaunchFlags(FlagSet& set, LaunchFlags& flags) {
  set.BeginGroup("Ranks");
  set.Int("-n,--num_ranks", flags.num_ranks,
          {.help = "processes to start on this machine",
           .min = 1,
           .max = kMaxRanks})
      ->required();
  set.Folder("--run_dir", flags.run_dir,
             "where the ranks find each other; default: a temporary folder");
  set.Folder("--log_dir", flags.log_dir,
             "also write the output of each rank to rank_N.log in this folder");
  set.Int("--max_restarts", flags.max_restarts,
          {.help = "after a failure, start all ranks again, up to this number "
                   "of times; needs train --resume auto"});
  set.Real("--grace", flags.grace,
           {.help = "seconds from SIGTERM to SIGKILL for the other ranks, "
                    "after one has failed; default 10",
            .max = kMaxGraceSeconds});
  set.Rest("command", flags.command,
           {.help = "the command of every rank, with its flags",
            .choices = {"train", "bench"}});
  set.AtEnd([&flags] { CheckRankCommand(flags); });
}

absl::Status RunLaunch(const LaunchFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string program, ThisProgram());
  LaunchSpec spec = {
      .ranks = flags.num_ranks,
      .command = {program},
      .run_folder = flags.run_dir,
      .max_restarts = flags.max_restarts,
      .grace = std::chrono::milliseconds(std::llround(flags.grace * 1e3)),
      .log_folder = flags.log_dir};
  spec.command.insert(spec.command.end(), flags.command.begin(),
                      flags.command.end());
  SPILLWAY_ASSIGN_OR_RETURN(const LaunchResult result, Launch(spec));
  if (result.exit_status == 0) return absl::OkStatus();
  return WithExitStatus(absl::AbortedError(result.reason), result.exit_status);
}

}  // namespace spillway
