#include "comm/ranks.h"

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::kInvalid;
using testing::StatusIs;

using Variables = std::map<std::string, std::string>;

absl::StatusOr<RankIdentity> Find(const Variables& variables) {
  return FindRank([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

struct LauncherCase {
  std::string launcher = {};
  Variables variables = {};
};

std::string CaseName(const ::testing::TestParamInfo<LauncherCase>& info) {
  std::string name = info.param.launcher;
  std::erase(name, ' ');
  return name;
}

// Each says: rank 5 of 7, which is rank 1 of 3 on its host.
class RanksTest : public ::testing::TestWithParam<LauncherCase> {};

TEST_P(RanksTest, AreReadFromTheLauncher) {
  ASSERT_OK_AND_ASSIGN(const RankIdentity identity, Find(GetParam().variables));
  EXPECT_EQ(identity.launcher, GetParam().launcher);
  EXPECT_EQ(identity.rank, 5);
  EXPECT_EQ(identity.size, 7);
  EXPECT_EQ(identity.local_rank, 1);
  EXPECT_EQ(identity.local_size, 3);
}

INSTANTIATE_TEST_SUITE_P(
    Launchers, RanksTest,
    ::testing::Values(
        LauncherCase{.launcher = "spillway launch",
                     .variables = {{"SPILLWAY_RANK", "5"},
                                   {"SPILLWAY_WORLD_SIZE", "7"},
                                   {"SPILLWAY_LOCAL_RANK", "1"},
                                   {"SPILLWAY_LOCAL_WORLD_SIZE", "3"}}},
        LauncherCase{.launcher = "torchrun",
                     .variables = {{"RANK", "5"},
                                   {"WORLD_SIZE", "7"},
                                   {"LOCAL_RANK", "1"},
                                   {"LOCAL_WORLD_SIZE", "3"}}},
        LauncherCase{.launcher = "Open MPI",
                     .variables = {{"OMPI_COMM_WORLD_RANK", "5"},
                                   {"OMPI_COMM_WORLD_SIZE", "7"},
                                   {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}}},
        LauncherCase{.launcher = "PMI",
                     .variables = {{"PMI_RANK", "5"},
                                   {"PMI_SIZE", "7"},
                                   {"MPI_LOCALRANKID", "1"},
                                   {"MPI_LOCALNRANKS", "3"}}},
        LauncherCase{.launcher = "Slurm",
                     .variables = {{"SLURM_PROCID", "5"},
                                   {"SLURM_STEP_NUM_TASKS", "7"},
                                   {"SLURM_LOCALID", "1"},
                                   {"SLURM_NODEID", "2"},
                                   {"SLURM_STEP_TASKS_PER_NODE", "2(x2),3"}}}),
    CaseName);

TEST(FindRankTest, AProcessWithoutALauncherIsAlone) {
  ASSERT_OK_AND_ASSIGN(const RankIdentity identity, Find({}));
  EXPECT_EQ(identity.rank, 0);
  EXPECT_EQ(identity.size, 1);
  EXPECT_EQ(identity.launcher, "");
  EXPECT_TRUE(FindRank().ok());
}

TEST(FindRankTest, MissingLocalRanksAreThoseOfOneHost) {
  ASSERT_OK_AND_ASSIGN(const RankIdentity identity,
                       Find({{"RANK", "2"}, {"WORLD_SIZE", "4"}}));
  EXPECT_EQ(identity.local_rank, 2);
  EXPECT_EQ(identity.local_size, 4);
}

TEST(FindRankTest, OwnVariablesComeFirst) {
  ASSERT_OK_AND_ASSIGN(const RankIdentity identity,
                       Find({{"SPILLWAY_RANK", "1"},
                             {"SPILLWAY_WORLD_SIZE", "2"},
                             {"RANK", "0"},
                             {"WORLD_SIZE", "2"}}));
  EXPECT_EQ(identity.launcher, "spillway launch");
  EXPECT_EQ(identity.rank, 1);
}

// `mpirun -n 1 spillway launch -n 2`.
TEST(FindRankTest, ALauncherInARunOfOneRankIsNoContradiction) {
  ASSERT_OK_AND_ASSIGN(const RankIdentity identity,
                       Find({{"SPILLWAY_RANK", "1"},
                             {"SPILLWAY_WORLD_SIZE", "2"},
                             {"OMPI_COMM_WORLD_RANK", "0"},
                             {"OMPI_COMM_WORLD_SIZE", "1"}}));
  EXPECT_EQ(identity.size, 2);
}

// The daemons of mpirun are tasks of Slurm.
TEST(FindRankTest, SlurmContradictsNoOtherLauncher) {
  ASSERT_OK_AND_ASSIGN(const RankIdentity identity,
                       Find({{"OMPI_COMM_WORLD_RANK", "3"},
                             {"OMPI_COMM_WORLD_SIZE", "8"},
                             {"SLURM_PROCID", "0"},
                             {"SLURM_STEP_NUM_TASKS", "2"}}));
  EXPECT_EQ(identity.size, 8);
}

TEST(FindRankTest, ABatchScriptOfSlurmIsAlone) {
  ASSERT_OK_AND_ASSIGN(const RankIdentity identity,
                       Find({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}));
  EXPECT_EQ(identity.size, 1);
}

TEST(FindRankTest, ARendezvousIsAFolderOrAnAddress) {
  const Variables rank = {{"SPILLWAY_RANK", "0"}, {"SPILLWAY_WORLD_SIZE", "2"}};
  const auto find = [&](const std::string& place) {
    Variables variables = rank;
    variables["SPILLWAY_RUN_ID"] = "run7";
    variables["SPILLWAY_RENDEZVOUS"] = place;
    return Find(variables).value();
  };
  EXPECT_EQ(find("/tmp/meet:1").rendezvous_folder, "/tmp/meet:1");
  EXPECT_EQ(find("meet").rendezvous_folder, "meet");
  EXPECT_EQ(find("meet").rendezvous_address, "");
  EXPECT_EQ(find("[::1]:2900").rendezvous_address, "[::1]:2900");
  EXPECT_EQ(find("localhost:2900").rendezvous_address, "localhost:2900");
  EXPECT_EQ(find("localhost:2900").rendezvous_folder, "");
  EXPECT_EQ(find("localhost:2900").run_id, "run7");
}

TEST(FindRankTest, TorchrunNamesItsRendezvous) {
  Variables variables = {{"RANK", "0"},
                         {"WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "10.0.0.1"},
                         {"MASTER_PORT", "29500"},
                         {"TORCHELASTIC_RUN_ID", "abc"}};
  ASSERT_OK_AND_ASSIGN(const RankIdentity identity, Find(variables));
  EXPECT_EQ(identity.rendezvous_address, "10.0.0.1:29500");
  EXPECT_EQ(identity.run_id, "abc");
  variables["MASTER_ADDR"] = "::1";
  variables["SPILLWAY_RUN_ID"] = "own";
  ASSERT_OK_AND_ASSIGN(const RankIdentity other, Find(variables));
  EXPECT_EQ(other.rendezvous_address, "[::1]:29500");
  EXPECT_EQ(other.run_id, "own");
}

TEST(FindRankTest, StaysOffThePortThatTorchrunUses) {
  Variables variables = {
      {"RANK", "0"},
      {"WORLD_SIZE", "4"},
      {"LOCAL_RANK", "0"},
      {"LOCAL_WORLD_SIZE", "2"},
      {"MASTER_ADDR", "10.0.0.1"},
      {"MASTER_PORT", "29500"},
      {"TORCHELASTIC_RUN_ID", "abc"},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
      {"TORCHELASTIC_ERROR_FILE", "/tmp/run/attempt_1/0/error.json"}};
  ASSERT_OK_AND_ASSIGN(const RankIdentity two_hosts, Find(variables));
  EXPECT_EQ(two_hosts.rendezvous_address, "10.0.0.1:29501");
  EXPECT_EQ(two_hosts.rendezvous_folder, "");
  variables["WORLD_SIZE"] = "2";
  ASSERT_OK_AND_ASSIGN(const RankIdentity one_host, Find(variables));
  EXPECT_EQ(one_host.rendezvous_folder, "/tmp/run/attempt_1");
  EXPECT_EQ(one_host.rendezvous_address, "");
  variables.erase("TORCHELASTIC_ERROR_FILE");
  ASSERT_OK_AND_ASSIGN(const RankIdentity no_folder, Find(variables));
  EXPECT_EQ(no_folder.rendezvous_address, "10.0.0.1:29501");
  variables["SPILLWAY_RENDEZVOUS"] = "meet";
  ASSERT_OK_AND_ASSIGN(const RankIdentity given, Find(variables));
  EXPECT_EQ(given.rendezvous_folder, "meet");
}

struct BadCase {
  Variables variables = {};
  std::string error = {};
};

TEST(FindRankTest, NamesTheVariableThatIsWrong) {
  const BadCase cases[] = {
      {{{"RANK", "0"}}, "RANK is set, but WORLD_SIZE is not"},
      {{{"PMI_RANK", "0"}}, "PMI_RANK is set, but PMI_SIZE is not"},
      {{{"RANK", "one"}, {"WORLD_SIZE", "2"}}, "RANK is 'one'"},
      {{{"RANK", "1x"}, {"WORLD_SIZE", "2"}}, "RANK is '1x'"},
      {{{"RANK", ""}, {"WORLD_SIZE", "2"}}, "RANK is ''"},
      {{{"RANK", "-1"}, {"WORLD_SIZE", "2"}}, "RANK is '-1'"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "0"}}, "WORLD_SIZE is '0'"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "99999999999"}},
       "WORLD_SIZE is '99999999999'"},
      {{{"RANK", "2"}, {"WORLD_SIZE", "2"}}, "RANK is 2, but WORLD_SIZE is 2"},
      {{{"RANK", "0"},
        {"WORLD_SIZE", "2"},
        {"LOCAL_RANK", "1"},
        {"LOCAL_WORLD_SIZE", "1"}},
       "LOCAL_RANK is 1, but LOCAL_WORLD_SIZE is 1"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "3"}},
       "LOCAL_WORLD_SIZE is 3, but WORLD_SIZE is 2"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}},
       "MASTER_ADDR is set, but MASTER_PORT is not"},
      {{{"RANK", "0"},
        {"WORLD_SIZE", "2"},
        {"MASTER_ADDR", "h"},
        {"MASTER_PORT", "http"}},
       "MASTER_PORT is 'http'"},
      {{{"SPILLWAY_RANK", "0"},
        {"SPILLWAY_WORLD_SIZE", "2"},
        {"OMPI_COMM_WORLD_RANK", "0"},
        {"OMPI_COMM_WORLD_SIZE", "4"}},
       "SPILLWAY_WORLD_SIZE is 2 (spillway launch), but OMPI_COMM_WORLD_SIZE "
       "is 4 (Open MPI)"},
      {{{"SLURM_PROCID", "0"},
        {"SLURM_STEP_NUM_TASKS", "4"},
        {"SLURM_STEP_TASKS_PER_NODE", "2(x"}},
       "SLURM_STEP_TASKS_PER_NODE is '2(x'"},
      {{{"SLURM_PROCID", "0"},
        {"SLURM_STEP_NUM_TASKS", "4"},
        {"SLURM_NODEID", "2"},
        {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}},
       "and so for node 2"},
  };
  for (const BadCase& each : cases) {
    EXPECT_THAT(Find(each.variables),
                StatusIs(kInvalid, HasSubstr(each.error)));
  }
}

}  // namespace
}  // namespace spillway
