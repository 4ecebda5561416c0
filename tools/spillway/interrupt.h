// Turns SIGINT (Ctrl-C) and SIGTERM into a request to stop after the current
// part of the work, for long-running commands.
//
//   const Interrupts interrupts("step");
//   spec.stop = interrupts.stop();
//   ...
//   if (result.interrupted) return InterruptedStatus("after 12 steps");
//
// The first signal is recorded and confirmed on stderr; the second ends the
// process at once by its default action. Signals within 50 ms of the first
// count as the same one, since timeout(1) and mpirun send theirs twice. From
// the first signal on, SIGPIPE is ignored: the same Ctrl-C may have ended the
// reader of our output, and that must not end this process before its files are
// written.
//
// A signal that the process was started to ignore stays ignored (as SIGINT is
// in a background job of a script). Interrupted system calls are restarted.
#ifndef SPILLWAY_TOOLS_SPILLWAY_INTERRUPT_H_
#define SPILLWAY_TOOLS_SPILLWAY_INTERRUPT_H_

#include <csignal>
#include <string_view>

#include "absl/status/status.h"
#include "base/stop_request.h"

namespace spillway {

// Catches both signals during its lifetime; before and after, they have their
// default action. At most one per process (CHECKed), constructed and destroyed
// on the same thread.
class Interrupts {
 public:
  // `part`: the unit of work that is finished first; used in the message.
  explicit Interrupts(std::string_view part);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Returns true after the first signal. Thread-safe; may outlive this object.
  StopRequest stop() const;

 private:
  struct sigaction old_int_ = {};
  struct sigaction old_term_ = {};
};

// The first signal that was caught; 0: no signal. Thread-safe.
int InterruptSignal();

// CANCELLED: "interrupted by SIGINT `what`". For work that ended because stop()
// returned true.
absl::Status InterruptedStatus(std::string_view what);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_INTERRUPT_H_
