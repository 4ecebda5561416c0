// Ranks that are processes, so that one can be killed.
#ifndef SPILLWAY_TESTS_COMM_RANK_PROCESSES_H_
#define SPILLWAY_TESTS_COMM_RANK_PROCESSES_H_

#include <sys/types.h>

#include <functional>
#include <vector>

#include "absl/status/status.h"

namespace spillway::testing {

// Bytes that pass from process to process: who waits, waits for events of the
// others.
class ProcessGate {
 public:
  ProcessGate();
  ~ProcessGate();
  ProcessGate(const ProcessGate&) = delete;
  ProcessGate& operator=(const ProcessGate&) = delete;

  void Open() const;
  // For `count` calls of Open.
  void Wait(int count) const;

 private:
  int ends_[2] = {-1, -1};
};

// Each is forked, so this process must not have started a thread before.
class RankProcesses {
 public:
  RankProcesses() = default;
  // Kills those that still run.
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  // One more rank: a process that calls `run` and ends.
  void Start(const std::function<absl::Status()>& run);

  // Sends a signal to a rank.
  void Signal(int rank, int signal) const;

  // Returns when all but `left_out` have ended: what `run` returned, by rank;
  // CANCELLED for a rank that was killed. (-1: none is left out.)
  std::vector<absl::Status> Wait(int left_out = -1);

 private:
  struct Process {
    pid_t pid = -1;   // -1: has ended
    int result = -1;  // a pipe
  };

  std::vector<Process> processes_;
};

// `run(rank)` in `size` processes; what it returned, by rank.
std::vector<absl::Status> RunRankProcesses(
    int size, const std::function<absl::Status(int rank)>& run);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_COMM_RANK_PROCESSES_H_
