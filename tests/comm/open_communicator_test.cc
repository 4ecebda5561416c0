#include "comm/open_communicator.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "tests/comm/conformance.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::StatusIs;

bool HasBackend(std::string_view name) {
  return std::ranges::count(CommBackends(), name) > 0;
}

RankIdentity OneOfFour(const char* launcher) {
  return {.rank = 2, .size = 4, .launcher = launcher};
}

TEST(OpenCommunicatorTest, ASingleRankIsSelf) {
  ASSERT_OK_AND_ASSIGN(const auto communicator, OpenCommunicator({}));
  EXPECT_EQ(communicator->info().backend, "self");
  EXPECT_THAT(testing::CheckCollectives(*communicator), IsOk());
}

TEST(OpenCommunicatorTest, BackendsAreListed) {
  EXPECT_EQ(CommBackends()[0], "auto");
  EXPECT_TRUE(HasBackend("self"));
}

TEST(OpenCommunicatorTest, AnUnknownBackendIsRefused) {
  EXPECT_THAT(
      OpenCommunicator({.backend = "smoke"}),
      StatusIs(kInvalid, AllOf(HasSubstr("'smoke'"), HasSubstr("auto, self"))));
}

TEST(OpenCommunicatorTest, SelfIsNoBackendOfSeveralRanks) {
  EXPECT_THAT(
      OpenCommunicator({.backend = "self", .identity = OneOfFour("torchrun")}),
      StatusIs(kInvalid, HasSubstr("a run of 4 ranks (torchrun)")));
}

TEST(OpenCommunicatorTest, ATimeoutMustBePositive) {
  EXPECT_THAT(
      OpenCommunicator({.options = {.timeout = std::chrono::milliseconds(0)}}),
      StatusIs(kInvalid, HasSubstr("timeout of communication is 0 ms")));
}

TEST(OpenCommunicatorTest, SeveralRanksNeedARendezvous) {
  if (!HasBackend("gloo")) GTEST_SKIP() << "gloo is not built in";
  EXPECT_THAT(OpenCommunicator({.identity = OneOfFour("torchrun")}),
              StatusIs(kInvalid, HasSubstr("SPILLWAY_RENDEZVOUS")));
}

TEST(OpenCommunicatorTest, AMissingBackendNamesItsPackage) {
  if (!HasBackend("gloo")) {
    EXPECT_THAT(OpenCommunicator({.backend = "gloo"}),
                StatusIs(kInvalid, AllOf(HasSubstr("libgloo-dev"),
                                         HasSubstr("-DSPILLWAY_GLOO=ON"))));
  }
  if (!HasBackend("mpi")) {
    EXPECT_THAT(OpenCommunicator({.backend = "mpi"}),
                StatusIs(kInvalid, AllOf(HasSubstr("libopenmpi-dev"),
                                         HasSubstr("-DSPILLWAY_MPI=ON"))));
  }
}

// Else each process of `mpirun -n 4` would train for itself.
TEST(OpenCommunicatorTest, WithoutMpiARankOfMpirunIsRefused) {
  if (HasBackend("mpi")) GTEST_SKIP() << "MPI is built in";
  for (const char* launcher : {"Open MPI", "PMI"}) {
    EXPECT_THAT(OpenCommunicator({.identity = OneOfFour(launcher)}),
                StatusIs(kInvalid, AllOf(HasSubstr("rank 2 of 4"),
                                         HasSubstr("libopenmpi-dev"))));
  }
}

}  // namespace
}  // namespace spillway
