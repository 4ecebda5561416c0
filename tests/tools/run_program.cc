#include "tests/tools/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "gtest/gtest.h"

extern char** environ;

namespace spillway::testing {
namespace {

// The arguments of posix_spawn; frees them at the end of the scope.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  void Open(int fd, const std::string& path) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY;
    posix_spawn_file_actions_addopen(&actions_, fd, path.c_str(), kFlags, 0600);
  }

  // A script in the background starts tests with SIGINT ignored.
  void ResetSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) {
      sigaddset(&signals, signal);
    }
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }

  // command: the path of a program, then its arguments.
  pid_t Spawn(const std::vector<std::string>& command) const {
    std::vector<char*> argv;
    argv.reserve(command.size() + 1);
    for (const std::string& word : command) {
      argv.push_back(const_cast<char*>(word.c_str()));
    }
    argv.push_back(nullptr);
    pid_t process = -1;
    const int error = posix_spawn(&process, argv[0], &actions_, &attributes_,
                                  argv.data(), environ);
    EXPECT_EQ(error, 0) << argv[0];
    return error == 0 ? process : -1;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// The program, under a shell that sets its limit: a limit of this process
// would be one for starting it, too.
std::vector<std::string> CommandOf(const ProgramStart& start) {
  std::vector<std::string> command;
  if (start.address_space_kib > 0) {
    command = {"/bin/sh", "-c", R"(ulimit -v "$0" && exec "$@")",
               std::to_string(start.address_space_kib)};
  }
  command.insert(command.end(), start.under.begin(), start.under.end());
  command.emplace_back(SPILLWAY_PROGRAM);
  command.insert(command.end(), start.arguments.begin(), start.arguments.end());
  return command;
}

std::string Content(const std::string& path) {
  const auto content = ReadFile(path);
  EXPECT_TRUE(content.ok()) << content.status().ToString();
  return content.value_or("");
}

}  // namespace

RunningProgram::RunningProgram(const ProgramStart& start)
    : stdout_path_(start.stdout_path) {
  if (stdout_path_.empty()) {
    kept_stdout_ = folder_.File("stdout");
    stdout_path_ = kept_stdout_;
  }
  SpawnSettings settings;
  settings.Open(STDOUT_FILENO, stdout_path_);
  if (start.has_terminal) {
    terminal_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    EXPECT_TRUE(terminal_ >= 0 && grantpt(terminal_) == 0 &&
                unlockpt(terminal_) == 0);
    settings.Open(STDERR_FILENO, ptsname(terminal_));
  } else {
    settings.Open(STDERR_FILENO, folder_.File("stderr"));
  }
  if (!start.inherits_signals) settings.ResetSignals();
  process_ = settings.Spawn(CommandOf(start));
  if (process_ < 0) exit_status_ = -1;
}

RunningProgram::~RunningProgram() {
  if (!HasEnded()) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  if (terminal_ >= 0) close(terminal_);
}

bool RunningProgram::HasEnded(bool waits) {
  if (exit_status_) return true;
  int status = 0;
  if (waitpid(process_, &status, waits ? 0 : WNOHANG) != process_) return false;
  exit_status_ =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

// The terminal has to be read, or the program blocks.
std::string RunningProgram::StandardError() {
  if (terminal_ < 0) return Content(folder_.File("stderr"));
  std::array<char, 4096> buffer;
  ssize_t size = 0;
  while ((size = read(terminal_, buffer.data(), buffer.size())) > 0) {
    terminal_text_.append(buffer.data(), static_cast<size_t>(size));
  }
  return terminal_text_;
}

std::string RunningProgram::StandardOutput() const {
  return kept_stdout_.empty() ? "" : Content(kept_stdout_);
}

bool RunningProgram::WaitFor(std::string_view text) {
  while (true) {
    const bool has_ended = HasEnded();  // before the last look
    if (StandardOutput().find(text) != std::string::npos ||
        StandardError().find(text) != std::string::npos) {
      return true;
    }
    if (has_ended) {
      ADD_FAILURE() << "ended with " << *exit_status_ << " and without \""
                    << text << "\"\n"
                    << StandardOutput() << StandardError();
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void RunningProgram::Send(int signal) const {
  if (exit_status_) return;  // another process may have its number by now
  EXPECT_EQ(kill(process_, signal), 0);
}

ProgramRun RunningProgram::Wait() {
  while (!HasEnded(/*waits=*/terminal_ < 0)) {
    StandardError();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {.exit_status = *exit_status_,
          .out = StandardOutput(),
          .err = StandardError()};
}

ProgramRun RunProgram(const std::vector<std::string>& arguments,
                      const std::string& stdout_path) {
  return RunningProgram({.arguments = arguments, .stdout_path = stdout_path})
      .Wait();
}

nlohmann::ordered_json RunForJson(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--json", "-"});
  const ProgramRun run = RunProgram(arguments);
  EXPECT_EQ(run.exit_status, 0) << run.err;
  const auto json = ParseJson(run.out, "stdout");
  EXPECT_TRUE(json.ok()) << json.status().ToString() << "\n" << run.out;
  return json.ok() ? *json : nlohmann::ordered_json();
}

void ExpectExactMemory(const nlohmann::ordered_json& result) {
  for (const char* peak : {"peak_device_bytes", "peak_host_bytes"}) {
    EXPECT_EQ(result[peak]["predicted"], result[peak]["measured"]) << peak;
  }
  EXPECT_EQ(result["device_allocations_in_steps"], 0);
}

FlagValues With(FlagValues flags, const FlagValues& more) {
  for (const auto& [name, value] : more) flags[name] = value;
  return flags;
}

std::vector<std::string> ToArguments(const std::string& command,
                                     const FlagValues& flags) {
  std::vector<std::string> arguments = {command};
  for (const auto& [flag, value] : flags) {
    arguments.insert(arguments.end(), {flag, value});
  }
  return arguments;
}

}  // namespace spillway::testing
