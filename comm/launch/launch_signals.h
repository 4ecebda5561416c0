// The signals that Launch waits for.
#ifndef SPILLWAY_COMM_LAUNCH_LAUNCH_SIGNALS_H_
#define SPILLWAY_COMM_LAUNCH_LAUNCH_SIGNALS_H_

#include <array>
#include <csignal>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/launch/file_descriptor.h"

namespace spillway {

// Catches SIGINT and SIGTERM, unless they were ignored, and SIGCHLD, and
// ignores SIGPIPE during its lifetime. Signals belong to the process, so there
// is at most one (CHECKed).
class LaunchSignals {
 public:
  // FAILED_PRECONDITION if there is no free descriptor.
  static absl::StatusOr<std::unique_ptr<LaunchSignals>> Catch();
  ~LaunchSignals();
  LaunchSignals(const LaunchSignals&) = delete;
  LaunchSignals& operator=(const LaunchSignals&) = delete;

  // Can be read after each signal, until ClearWake.
  int wake_fd() const { return wake_.fd(); }
  void ClearWake() const;

  // SIGINT or SIGTERM, whichever came first; 0: none.
  int first() const;
  // Whether another one followed, at least 50 ms later.
  bool has_second() const;

  // The signals that a process that is started has to set to their default
  // action.
  std::vector<int> DefaultInChild() const;

 private:
  explicit LaunchSignals(FileDescriptor wake);

  static constexpr std::array<int, 4> kSignals = {SIGINT, SIGTERM, SIGCHLD,
                                                  SIGPIPE};
  FileDescriptor wake_;
  std::array<struct sigaction, 4> old_ = {};  // as kSignals
};

}  // namespace spillway

#endif  // SPILLWAY_COMM_LAUNCH_LAUNCH_SIGNALS_H_
