// Starts the ranks of a run as processes of this machine, and waits for their
// end.
//
//           fork, exec        pipes
//   Launch ------------> rank 0 ----> "[0] loss 0.42"  \  lines of this
//          ------------> rank 1 ----> "[1] loss 0.42"  /  process's output
//
// The first rank that fails decides: the others get SIGTERM and, after a grace
// time, SIGKILL; the result is the failed rank's. Of failures that are found at
// once, one that is no consequence of another (75, 76) counts.
//
// Every start of the ranks has a secret id of its own, so what an earlier start
// has left in the run folder is not taken for the new one's. Ranks find the run
// through the variables that comm/ranks.h names and SPILLWAY_RESTART (0 at the
// first start). OMP_NUM_THREADS is an equal part of the cores and
// OMP_WAIT_POLICY is passive, unless they are set; the variables of other
// launchers are removed.
//
// SIGINT and SIGTERM are caught, unless they were ignored: the first one is
// passed on to the ranks, without a limit of time; the second one ends them by
// SIGKILL. Signals less than 50 ms after the first count as the first.
//
// Each rank has a process group of its own; what its processes leave running is
// killed when it ends. Ranks are killed if the thread that called Launch ends.
// Their standard input is empty.
#ifndef SPILLWAY_COMM_LAUNCH_LAUNCH_H_
#define SPILLWAY_COMM_LAUNCH_LAUNCH_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace spillway {

struct LaunchSpec {
  int ranks = 1;
  // The path of a program, then its arguments; the same for all ranks.
  std::vector<std::string> command = {};
  // Where ranks find each other; created if it is missing. "": a temporary one
  // that only this user may read, removed at the end.
  std::string run_folder = {};
  // After a failure, all ranks are started again, up to this number of times;
  // not after the exit statuses 2 and 3, which would come again.
  int max_restarts = 0;
  // From SIGTERM to SIGKILL.
  std::chrono::milliseconds grace = std::chrono::seconds(10);
  // Descriptors for the lines of the ranks' standard output and standard error,
  // each with its rank: "[3] text". Lines are written whole and in the order in
  // which they are read; those longer than 64 KiB are divided. A slow reader
  // slows the ranks down. The bytes of a single rank pass unchanged.
  int output = 1;
  int error = 2;
  // Each rank's lines also go to rank_N.log in this folder, which is created if
  // it is missing. "": nowhere.
  std::string log_folder = {};
};

struct LaunchResult {
  // 0: every rank ended with 0. Else that of the rank that failed first, 76 if
  // a signal ended it. After SIGINT or SIGTERM 130 or 143, but 2 if that is the
  // status of a rank.
  int exit_status = 0;
  std::string reason = {};  // "rank 1 was ended by SIGKILL"; "": success
  int restarts = 0;
};

// Errors, with no rank left: INVALID_ARGUMENT for fewer ranks than 1 or no
// command; FAILED_PRECONDITION for a folder that cannot be written, a program
// that cannot be started, a limit of this process, or output that cannot be
// written (the ranks were ended as after a failure). Once at a time in a
// process (CHECKed).
absl::StatusOr<LaunchResult> Launch(const LaunchSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_COMM_LAUNCH_LAUNCH_H_
