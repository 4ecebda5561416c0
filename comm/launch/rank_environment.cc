#include "comm/launch/rank_environment.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "fmt/format.h"

namespace spillway {
namespace {

// Those of this launcher, and those from which FindRank (comm/ranks.h) would
// learn of another one.
constexpr std::array<std::string_view, 23> kRankVariables = {
    "SPILLWAY_RANK",
    "SPILLWAY_WORLD_SIZE",
    "SPILLWAY_LOCAL_RANK",
    "SPILLWAY_LOCAL_WORLD_SIZE",
    "SPILLWAY_RUN_ID",
    "SPILLWAY_RENDEZVOUS",
    "SPILLWAY_RESTART",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_LOCALID",
    "SLURM_STEP_TASKS_PER_NODE"};

std::string_view VariableName(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool IsRankVariable(const std::string& variable) {
  return std::ranges::find(kRankVariables, VariableName(variable)) !=
         kRankVariables.end();
}

void SetUnlessSet(const std::string& name, const std::string& value,
                  std::vector<std::string>& environment) {
  const auto has_name = [&](const std::string& variable) {
    return VariableName(variable) == name;
  };
  if (std::ranges::any_of(environment, has_name)) return;
  environment.push_back(fmt::format("{}={}", name, value));
}

}  // namespace

std::vector<std::string> RankEnvironment(std::vector<std::string> inherited,
                                         const RankEnvironmentSpec& spec) {
  std::vector<std::string> environment = std::move(inherited);
  std::erase_if(environment, IsRankVariable);
  const std::string rank = fmt::format("{}", spec.rank);
  const std::string size = fmt::format("{}", spec.size);
  const int threads = std::max(1, spec.cores / spec.size);
  SetUnlessSet("SPILLWAY_RANK", rank, environment);
  SetUnlessSet("SPILLWAY_WORLD_SIZE", size, environment);
  SetUnlessSet("SPILLWAY_LOCAL_RANK", rank, environment);
  SetUnlessSet("SPILLWAY_LOCAL_WORLD_SIZE", size, environment);
  SetUnlessSet("SPILLWAY_RUN_ID", spec.run_id, environment);
  SetUnlessSet("SPILLWAY_RENDEZVOUS", spec.run_folder, environment);
  SetUnlessSet("SPILLWAY_RESTART", fmt::format("{}", spec.restart),
               environment);
  SetUnlessSet("OMP_NUM_THREADS", fmt::format("{}", threads), environment);
  SetUnlessSet("OMP_WAIT_POLICY", "passive", environment);
  return environment;
}

std::vector<std::string> InheritedEnvironment() {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  return environment;
}

int UsableCores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

}  // namespace spillway
