// One rank as a process of this machine.
#ifndef SPILLWAY_COMM_LAUNCH_RANK_PROCESS_H_
#define SPILLWAY_COMM_LAUNCH_RANK_PROCESS_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace spillway {

struct RankProcessSpec {
  std::vector<std::string> command = {};      // path of the program, arguments
  std::vector<std::string> environment = {};  // "NAME=value"
  int output = 1;                             // becomes its standard output
  int error = 2;                              // becomes its standard error
  std::vector<int> default_signals = {};      // set to their default action
  rlimit open_files = {};                     // its RLIMIT_NOFILE
};

struct RankEnd {
  int exit_status = 0;
  int signal = 0;  // that ended it; 0: none
};

// Killed by the destructor with all processes of its group if it has not ended.
class RankProcess {
 public:
  // Starts it in a process group of its own. It is killed when the calling
  // thread ends. FAILED_PRECONDITION with the system's reason.
  static absl::StatusOr<RankProcess> Start(const RankProcessSpec& spec);
  ~RankProcess();
  RankProcess(RankProcess&& other) noexcept
      : process_(std::exchange(other.process_, -1)) {}
  RankProcess& operator=(RankProcess&&) = delete;

  // Whether Poll has not yet returned its end.
  bool is_running() const { return process_ > 0; }

  // To the rank and all processes of its group; nothing after its end.
  void Send(int signal) const;

  // How it ended, once; nullopt: it runs. Kills what is left of its group.
  std::optional<RankEnd> Poll();

 private:
  explicit RankProcess(pid_t process) : process_(process) {}
  RankEnd Reap();

  pid_t process_ = -1;
};

}  // namespace spillway

#endif  // SPILLWAY_COMM_LAUNCH_RANK_PROCESS_H_
