#include "tools/spillway/interrupt.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string>

#include "base/check.h"
#include "fmt/format.h"

namespace spillway {
namespace {

constexpr int64_t kSameSignalNs = 50'000'000;

// Text at a fixed address, so that a signal handler may write it.
struct Message {
  std::array<char, 160> text = {};
  size_t size = 0;

  void Set(const std::string& message) {
    size = std::min(message.size(), text.size());
    std::copy_n(message.data(), size, text.data());
  }
};

// Signals belong to the process, so their state is global. Handlers may run
// concurrently on two threads, but do not nest on one thread.
struct SignalState {
  std::atomic<bool> is_caught = false;
  std::atomic<int64_t> first_ns = 0;  // time of the first; 0: no signal
  std::atomic<int> first = 0;         // number of the first
  // Set before the handler is installed.
  Message on_int = {};
  Message on_term = {};
};
static_assert(std::atomic<int64_t>::is_always_lock_free &&
              std::atomic<int>::is_always_lock_free);
SignalState state;

const char* InterruptName(int signal) {
  return signal == SIGTERM ? "SIGTERM" : "SIGINT";
}

// The time; never 0.
int64_t MonotonicNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::max<int64_t>(1,
                           int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec);
}

// The handler: calls only async-signal-safe functions (signal-safety(7)).
void OnSignal(int signal) {
  const int old_errno = errno;
  const int64_t now_ns = MonotonicNs();
  int64_t first_ns = 0;
  if (state.first_ns.compare_exchange_strong(first_ns, now_ns)) {
    state.first = signal;
    std::signal(SIGPIPE, SIG_IGN);
    const Message& message = signal == SIGTERM ? state.on_term : state.on_int;
    if (write(STDERR_FILENO, message.text.data(), message.size) < 0) {
      // There is no reader; nothing can be done.
    }
  } else if (now_ns - first_ns >= kSameSignalNs) {
    // Takes effect when the handler returns, which blocks the signal.
    std::signal(signal, SIG_DFL);
    raise(signal);
  }
  errno = old_errno;
}

void Catch(int signal, struct sigaction& old) {
  SPILLWAY_CHECK(sigaction(signal, nullptr, &old) == 0);
  if (old.sa_handler == SIG_IGN) return;
  struct sigaction caught = {};
  caught.sa_handler = OnSignal;
  caught.sa_flags = SA_RESTART;
  sigemptyset(&caught.sa_mask);
  sigaddset(&caught.sa_mask, SIGINT);
  sigaddset(&caught.sa_mask, SIGTERM);
  SPILLWAY_CHECK(sigaction(signal, &caught, nullptr) == 0);
}

}  // namespace

Interrupts::Interrupts(std::string_view part) {
  SPILLWAY_CHECK(!state.is_caught.exchange(true));
  // On a new line after the progress line and the terminal's ^C.
  const char* new_line = isatty(STDERR_FILENO) != 0 ? "\n" : "";
  for (const int signal : {SIGINT, SIGTERM}) {
    Message& message = signal == SIGTERM ? state.on_term : state.on_int;
    message.Set(fmt::format(
        "{}spillway: {}: ends after this {}; a second signal ends at once\n",
        new_line, InterruptName(signal), std::string(part)));
  }
  Catch(SIGINT, old_int_);
  Catch(SIGTERM, old_term_);
}

Interrupts::~Interrupts() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
  state.is_caught = false;
}

StopRequest Interrupts::stop() const {
  return [] { return InterruptSignal() != 0; };
}

int InterruptSignal() { return state.first; }

absl::Status InterruptedStatus(std::string_view what) {
  return absl::CancelledError(fmt::format("interrupted by {} {}",
                                          InterruptName(InterruptSignal()),
                                          std::string(what)));
}

}  // namespace spillway
