// One start of all ranks, until all have ended.
#ifndef SPILLWAY_COMM_LAUNCH_RANK_GROUP_H_
#define SPILLWAY_COMM_LAUNCH_RANK_GROUP_H_

#include <sys/resource.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/launch/launch.h"
#include "comm/launch/launch_signals.h"
#include "comm/launch/line_queue.h"
#include "comm/launch/rank_output.h"
#include "comm/launch/rank_process.h"

namespace spillway {

struct RankFailure {
  int rank = 0;
  int exit_status = 0;
  bool is_consequence = false;  // of another rank's failure
  std::string reason = {};      // "rank 1 was ended by SIGKILL"
};

// What is borrowed lives longer than the group.
struct RankGroupSpec {
  const LaunchSpec* launch = nullptr;
  const LaunchSignals* signals = nullptr;
  LineQueue* queue = nullptr;
  std::vector<int> logs = {};  // by rank; empty: none
  std::string run_folder = {};
  int restart = 0;
  rlimit open_files = {};  // of the ranks
};

class RankGroup {
 public:
  explicit RankGroup(const RankGroupSpec& spec) : spec_(spec) {}
  // Kills the ranks that run.
  ~RankGroup() = default;

  // Errors: as RankProcess::Start, as RankOutput::Open; INTERNAL if the system
  // has no random bytes. On an error, some ranks run.
  absl::Status Start();

  // Waits for the end of all ranks, and ends them by the rules of
  // comm/launch/launch.h, and if the queue has an error. The failure that
  // decides; nullopt: all ended with 0, or as a signal to this process asked
  // them to.
  std::optional<RankFailure> Wait();

 private:
  struct Rank {
    RankProcess process;
    RankOutput output;
    RankOutput error;
  };
  using Clock = std::chrono::steady_clock;

  absl::StatusOr<Rank> StartRank(int rank, const std::string& run_id);
  bool IsRunning() const;
  void WaitForEvents();
  void ReapRanks();
  std::optional<RankFailure> FailureOf(int rank, const RankEnd& end) const;
  void PassSignals();
  void EndRanks();
  void KillAfterGrace();
  void Send(int signal) const;
  void Say(const std::string& message);

  const RankGroupSpec spec_;
  std::vector<Rank> ranks_;
  std::optional<RankFailure> failure_;
  bool is_signal_passed_ = false;
  bool is_ending_ = false;                 // SIGTERM or SIGKILL was sent
  std::optional<Clock::time_point> kill_;  // when SIGKILL is due
};

}  // namespace spillway

#endif  // SPILLWAY_COMM_LAUNCH_RANK_GROUP_H_
