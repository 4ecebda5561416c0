// SIGINT (Ctrl-C) and SIGTERM as a request to end after the part of the work
// that is running, for commands that take long.
//
//   const Interrupts interrupts("step");
//   spec.stop = interrupts.stop();
//   ...
//   if (result.interrupted) return InterruptedStatus("after 12 steps");
//
// The first signal is noted and confirmed on stderr; the second ends the
// process at once by its default action. Signals within 50 ms of the first are
// taken for the same one, since timeout(1) and mpirun send theirs twice. From
// the first on SIGPIPE is ignored: the reader of our output, which the same
// Ctrl-C may have ended, must not end us before the files are written.
//
// A signal that the process was started to ignore stays ignored (as SIGINT is
// in a background job of a script). System calls that a signal interrupts are
// restarted.
#ifndef SPILLWAY_TOOLS_SPILLWAY_INTERRUPT_H_
#define SPILLWAY_TOOLS_SPILLWAY_INTERRUPT_H_

#include <csignal>
#include <string_view>

#include "absl/status/status.h"
#include "base/stop_request.h"

namespace spillway {

// Catches both signals for as long as it lives; before and after, they have
// their default action. One at a time in a process (CHECKed), made and
// destroyed on one thread.
class Interrupts {
 public:
  // `part`: what is finished first, as the message names it.
  explicit Interrupts(std::string_view part);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // True from the first signal on. From any thread, and of any lifetime.
  StopRequest stop() const;

 private:
  struct sigaction old_int_ = {};
  struct sigaction old_term_ = {};
};

// The first signal that was caught; 0: none. From any thread.
int InterruptSignal();

// CANCELLED: "interrupted by SIGINT `what`". For work that ended because
// stop() answered true.
absl::Status InterruptedStatus(std::string_view what);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_INTERRUPT_H_
