#include "tests/comm/rank_processes.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "base/check.h"

namespace spillway::testing {
namespace {

void WriteResult(int pipe, const absl::Status& status) {
  const std::string text = std::to_string(static_cast<int>(status.code())) +
                           " " + std::string(status.message());
  SPILLWAY_CHECK(write(pipe, text.data(), text.size()) ==
                 static_cast<ssize_t>(text.size()));
}

std::string ReadToEnd(int pipe) {
  std::string text;
  std::array<char, 4096> bytes = {};
  while (true) {
    const ssize_t got = read(pipe, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(bytes.data(), static_cast<size_t>(got));
  }
}

}  // namespace

ProcessGate::ProcessGate() { SPILLWAY_CHECK(pipe(ends_) == 0); }

ProcessGate::~ProcessGate() {
  close(ends_[0]);
  close(ends_[1]);
}

void ProcessGate::Open() const { SPILLWAY_CHECK(write(ends_[1], "", 1) == 1); }

void ProcessGate::Wait(int count) const {
  char byte = 0;
  while (count > 0) {
    if (read(ends_[0], &byte, 1) == 1) --count;
  }
}

RankProcesses::~RankProcesses() {
  for (const Process& process : processes_) {
    if (process.pid > 0) kill(process.pid, SIGKILL);
  }
  Wait();
}

void RankProcesses::Start(const std::function<absl::Status()>& run) {
  int ends[2] = {-1, -1};
  SPILLWAY_CHECK(pipe(ends) == 0);
  const pid_t pid = fork();
  SPILLWAY_CHECK(pid >= 0);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    WriteResult(ends[1], run());
    _exit(0);
  }
  close(ends[1]);
  processes_.push_back({.pid = pid, .result = ends[0]});
}

void RankProcesses::Signal(int rank, int signal) const {
  const pid_t pid = processes_.at(static_cast<size_t>(rank)).pid;
  SPILLWAY_CHECK(pid > 0);
  kill(pid, signal);
}

std::vector<absl::Status> RankProcesses::Wait(int left_out) {
  std::vector<absl::Status> results;
  for (Process& process : processes_) {
    const bool is_left_out = static_cast<int>(results.size()) == left_out;
    results.push_back(absl::CancelledError("it was killed, or still runs"));
    if (process.pid < 0 || is_left_out) continue;
    const std::string text = ReadToEnd(process.result);
    close(process.result);
    waitpid(process.pid, nullptr, 0);
    process.pid = -1;
    const size_t space = text.find(' ');
    if (space == std::string::npos) continue;
    const int code = std::stoi(text.substr(0, space));
    results.back() = absl::Status(static_cast<absl::StatusCode>(code),
                                  text.substr(space + 1));
  }
  return results;
}

std::vector<absl::Status> RunRankProcesses(
    int size, const std::function<absl::Status(int rank)>& run) {
  RankProcesses processes;
  for (int rank = 0; rank < size; ++rank) {
    processes.Start([&] { return run(rank); });
  }
  return processes.Wait();
}

}  // namespace spillway::testing
