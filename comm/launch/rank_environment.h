// The environment of a rank that Launch starts.
#ifndef SPILLWAY_COMM_LAUNCH_RANK_ENVIRONMENT_H_
#define SPILLWAY_COMM_LAUNCH_RANK_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace spillway {

struct RankEnvironmentSpec {
  int rank = 0;
  int size = 1;  // all on this machine
  std::string run_id = {};
  std::string run_folder = {};
  int restart = 0;
  int cores = 1;  // of this machine, for all ranks
};

// `inherited`, each "NAME=value", with the variables that Launch sets
// (comm/launch/launch.h) and without those in which other launchers state a
// rank.
std::vector<std::string> RankEnvironment(std::vector<std::string> inherited,
                                         const RankEnvironmentSpec& spec);

// This process's environment.
std::vector<std::string> InheritedEnvironment();

// The cores that this process may use; at least 1.
int UsableCores();

}  // namespace spillway

#endif  // SPILLWAY_COMM_LAUNCH_RANK_ENVIRONMENT_H_
