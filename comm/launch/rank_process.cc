#include "comm/launch/rank_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/status_macros.h"
#include "comm/launch/file_descriptor.h"
#include "fmt/format.h"

namespace spillway {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// What the new process needs. It was a copy of one thread of many, so until it
// is another program it calls only async-signal-safe functions and allocates
// nothing.
struct NewProcess {
  const RankProcessSpec& spec;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  sigset_t signal_mask = {};
  pid_t parent = -1;

  // Returns only if it fails.
  void Become() const {
    if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return;
    if (getppid() != parent) _exit(0);  // it ended before the line above
    const int input = open("/dev/null", O_RDONLY);
    if (input < 0 || dup2(input, STDIN_FILENO) < 0 ||
        dup2(spec.output, STDOUT_FILENO) < 0 ||
        dup2(spec.error, STDERR_FILENO) < 0) {
      return;
    }
    if (input != STDIN_FILENO) close(input);
    for (const int signal : spec.default_signals) {
      std::signal(signal, SIG_DFL);
    }
    setrlimit(RLIMIT_NOFILE, &spec.open_files);
    sigprocmask(SIG_SETMASK, &signal_mask, nullptr);
    execve(arguments[0], arguments, environment);
  }
};

// What `report` has: the error of a process that could not become the program;
// 0 if it has become that, which closes the pipe.
int ReadStartError(int report) {
  int error = 0;
  ssize_t size = 0;
  do {
    size = read(report, &error, sizeof(error));
  } while (size < 0 && errno == EINTR);
  return size == sizeof(error) ? error : 0;
}

absl::Status StartError(const RankProcessSpec& spec, int error) {
  return FailedPrecondition(fmt::format("{} cannot be started: {}",
                                        spec.command.front(), strerror(error)));
}

// With all signals blocked, so that none is handled in the copy of this
// process.
pid_t Fork(NewProcess& process, int report) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &process.signal_mask);
  const pid_t id = fork();
  const int fork_error = errno;
  if (id == 0) {
    process.Become();
    const int error = errno;
    if (write(report, &error, sizeof(error)) < 0) _exit(126);
    _exit(127);
  }
  pthread_sigmask(SIG_SETMASK, &process.signal_mask, nullptr);
  errno = fork_error;
  return id;
}

}  // namespace

absl::StatusOr<RankProcess> RankProcess::Start(const RankProcessSpec& spec) {
  const std::vector<char*> arguments = Pointers(spec.command);
  const std::vector<char*> environment = Pointers(spec.environment);
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return StartError(spec, errno);
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);

  NewProcess process = {.spec = spec,
                        .arguments = arguments.data(),
                        .environment = environment.data(),
                        .parent = getpid()};
  const pid_t id = Fork(process, write_end.fd());
  if (id < 0) return StartError(spec, errno);
  write_end.Close();
  if (const int error = ReadStartError(read_end.fd()); error != 0) {
    waitpid(id, nullptr, 0);
    return StartError(spec, error);
  }
  return RankProcess(id);
}

RankProcess::~RankProcess() {
  if (!is_running()) return;
  Send(SIGKILL);
  Reap();
}

void RankProcess::Send(int signal) const {
  if (!is_running()) return;
  // A rank may have left its group.
  if (kill(-process_, signal) != 0) kill(process_, signal);
}

// The group is killed before its number is free for others.
std::optional<RankEnd> RankProcess::Poll() {
  if (!is_running()) return std::nullopt;
  siginfo_t info = {};
  const int options = WEXITED | WNOHANG | WNOWAIT;
  if (waitid(P_PID, static_cast<id_t>(process_), &info, options) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  Send(SIGKILL);
  return Reap();
}

RankEnd RankProcess::Reap() {
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.exit_status = WEXITSTATUS(status)};
}

}  // namespace spillway
