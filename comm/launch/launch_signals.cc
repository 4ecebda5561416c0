#include "comm/launch/launch_signals.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

constexpr int64_t kSameLaunchSignalNs = 50'000'000;

// Of the process. Handlers may run concurrently on two threads.
struct LaunchSignalState {
  std::atomic<bool> is_caught = false;
  std::atomic<int> wake_fd = -1;
  std::atomic<int64_t> first_ns = 0;  // time of the first; 0: none
  std::atomic<int> first = 0;
  std::atomic<bool> has_second = false;
};
static_assert(std::atomic<int64_t>::is_always_lock_free &&
              std::atomic<int>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);
LaunchSignalState launch_signals;

void RecordStop(int signal) {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t now_ns =
      std::max<int64_t>(1, int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec);
  int64_t first_ns = 0;
  if (launch_signals.first_ns.compare_exchange_strong(first_ns, now_ns)) {
    launch_signals.first = signal;
  } else if (now_ns - first_ns >= kSameLaunchSignalNs) {
    launch_signals.has_second = true;
  }
}

// The handler: calls only async-signal-safe functions (signal-safety(7)).
void OnLaunchSignal(int signal) {
  const int old_errno = errno;
  if (signal != SIGCHLD) RecordStop(signal);
  const uint64_t one = 1;
  if (write(launch_signals.wake_fd, &one, sizeof(one)) < 0) {
    // It can be read already.
  }
  errno = old_errno;
}

bool IsIgnored(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
}

bool IsStop(int signal) { return signal == SIGINT || signal == SIGTERM; }

}  // namespace

absl::StatusOr<std::unique_ptr<LaunchSignals>> LaunchSignals::Catch() {
  FileDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.is_open()) {
    return FailedPrecondition(
        fmt::format("no event can be waited for: {}", strerror(errno)));
  }
  return std::unique_ptr<LaunchSignals>(new LaunchSignals(std::move(wake)));
}

LaunchSignals::LaunchSignals(FileDescriptor wake) : wake_(std::move(wake)) {
  SPILLWAY_CHECK(!launch_signals.is_caught.exchange(true));
  launch_signals.wake_fd = wake_.fd();
  launch_signals.first_ns = 0;
  launch_signals.first = 0;
  launch_signals.has_second = false;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    SPILLWAY_CHECK(sigaction(kSignals[i], nullptr, &old_[i]) == 0);
    if (IsStop(kSignals[i]) && IsIgnored(old_[i])) continue;
    struct sigaction action = {};
    action.sa_handler = kSignals[i] == SIGPIPE ? SIG_IGN : OnLaunchSignal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    SPILLWAY_CHECK(sigaction(kSignals[i], &action, nullptr) == 0);
  }
}

LaunchSignals::~LaunchSignals() {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &old_[i], nullptr);
  }
  launch_signals.is_caught = false;
}

void LaunchSignals::ClearWake() const {
  uint64_t count = 0;
  if (read(wake_.fd(), &count, sizeof(count)) < 0) {
    // No signal has come since the last call.
  }
}

int LaunchSignals::first() const { return launch_signals.first; }
bool LaunchSignals::has_second() const { return launch_signals.has_second; }

std::vector<int> LaunchSignals::DefaultInChild() const {
  std::vector<int> signals;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (!IsIgnored(old_[i])) signals.push_back(kSignals[i]);
  }
  return signals;
}

}  // namespace spillway
