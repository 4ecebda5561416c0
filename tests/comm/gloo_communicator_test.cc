// Each rank is a process. Timeouts that must not pass are long, so a busy
// machine fails no test.
#include "comm/gloo_communicator.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <list>
#include <string>
#include <thread>
#include <utility>

#include "base/random.h"
#include "base/status_macros.h"
#include "comm/rendezvous/tcp_store.h"
#include "gmock/gmock.h"
#include "tests/comm/conformance.h"
#include "tests/comm/rank_processes.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::AnyOf;
using testing::CheckCollectives;
using testing::CheckSameBits;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::NumCases;
using testing::ProcessGate;
using testing::RankProcesses;
using testing::RunRankProcesses;
using testing::StatusIs;
using testing::TemporaryFolder;
using Code = absl::StatusCode;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr auto kLong = std::chrono::minutes(5);

CommSpec SpecInFolder(const TemporaryFolder& folder, int rank, int size,
                      milliseconds timeout = kLong) {
  return {.backend = "gloo",
          .identity = {.rank = rank,
                       .size = size,
                       .local_rank = rank,
                       .local_size = size,
                       .run_id = "run 1",
                       .rendezvous_folder = folder.path()},
          .options = {.timeout = timeout}};
}

// Opens and runs.
template <typename Work>
absl::Status RunGlooRank(const CommSpec& spec, const Work& work) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> communicator,
                            OpenCommunicator(spec));
  return work(*communicator);
}

absl::Status CheckAll(Communicator& communicator) {
  SPILLWAY_RETURN_IF_ERROR(CheckCollectives(communicator));
  return CheckSameBits(communicator, /*is_ordered=*/false);
}

// Until a call fails.
absl::Status ReduceForever(Communicator& communicator) {
  std::vector<float> data(10'000, 1);
  while (true) {
    SPILLWAY_RETURN_IF_ERROR(communicator.AllReduce(
        data.data(), std::ssize(data), DType::kFloat32, ReduceOp::kMax));
  }
}

// The same, with messages that are larger than what connections hold.
absl::Status BroadcastForever(Communicator& communicator) {
  std::vector<float> data(16 << 20, 1);
  while (true) {
    SPILLWAY_RETURN_IF_ERROR(communicator.Broadcast(
        data.data(), std::ssize(data) * int64_t{sizeof(float)}, /*root=*/0));
  }
}

// A port that was free a moment ago.
std::string FreeAddress() {
  return (*ServeTcpStore("127.0.0.1:0", ""))->address();
}

class GlooCommunicatorTest : public ::testing::TestWithParam<int> {};

TEST_P(GlooCommunicatorTest, ComputesEveryCollective) {
  for (const bool check_calls : {false, true}) {
    const TemporaryFolder folder;
    const auto results = RunRankProcesses(GetParam(), [&](int rank) {
      CommSpec spec = SpecInFolder(folder, rank, GetParam());
      spec.options.check_calls = check_calls;
      return RunGlooRank(spec, CheckAll);
    });
    EXPECT_THAT(results, Each(IsOk()));
  }
}

TEST_P(GlooCommunicatorTest, AddsInTheOrderOfTheRanksOnRequest) {
  const TemporaryFolder folder;
  const auto results = RunRankProcesses(GetParam(), [&](int rank) {
    CommSpec spec = SpecInFolder(folder, rank, GetParam());
    spec.options.deterministic_reduce = true;
    return RunGlooRank(spec, [](Communicator& communicator) {
      return CheckSameBits(communicator, /*is_ordered=*/true);
    });
  });
  EXPECT_THAT(results, Each(IsOk()));
}

TEST_P(GlooCommunicatorTest, MeetsAtAnAddress) {
  const std::string address = FreeAddress();
  const auto results = RunRankProcesses(GetParam(), [&](int rank) {
    CommSpec spec = {.backend = "gloo",
                     .identity = {.rank = rank,
                                  .size = GetParam(),
                                  .run_id = "abc",
                                  .rendezvous_address = address},
                     .interface = "lo"};
    return RunGlooRank(spec, CheckAll);
  });
  EXPECT_THAT(results, Each(IsOk()));
}

INSTANTIATE_TEST_SUITE_P(Sizes, GlooCommunicatorTest,
                         ::testing::Values(1, 2, 3, 4));

TEST(GlooCommunicatorErrorTest, TellsWhoItIs) {
  const TemporaryFolder folder;
  const auto results = RunRankProcesses(2, [&](int rank) {
    return RunGlooRank(
        SpecInFolder(folder, rank, 2), [&](Communicator& communicator) {
          const CommInfo& info = communicator.info();
          const bool is_right = info.rank == rank && info.size == 2 &&
                                info.local_rank == rank &&
                                info.local_size == 2 &&
                                info.backend == "gloo" && !info.version.empty();
          SPILLWAY_RETURN_IF_ERROR(communicator.Barrier());
          return is_right ? absl::OkStatus() : Internal(info.version);
        });
  });
  EXPECT_THAT(results, Each(IsOk()));
}

TEST(GlooCommunicatorErrorTest, AKilledRankIsLost) {
  const TemporaryFolder folder;
  const ProcessGate running;
  RankProcesses processes;
  for (int rank = 0; rank < 3; ++rank) {
    processes.Start([&] {
      return RunGlooRank(SpecInFolder(folder, rank, 3),
                         [&](Communicator& communicator) {
                           running.Open();
                           return ReduceForever(communicator);
                         });
    });
  }
  running.Wait(3);
  processes.Signal(1, SIGKILL);
  const auto start = Clock::now();
  const auto results = processes.Wait();
  EXPECT_THAT(results[0],
              StatusIs(Code::kUnavailable, HasSubstr("all-reduce")));
  EXPECT_THAT(results[2],
              StatusIs(Code::kUnavailable, HasSubstr("all-reduce")));
  EXPECT_LT(Clock::now() - start, kLong / 5);
}

// A message is on its way when its sender or its receiver is killed.
TEST(GlooCommunicatorErrorTest, ARankIsLostInTheMiddleOfAMessage) {
  for (const int killed : {0, 1}) {
    for (const int size : {2, 3}) {
      const TemporaryFolder folder;
      const ProcessGate running;
      RankProcesses processes;
      for (int rank = 0; rank < size; ++rank) {
        processes.Start([&] {
          return RunGlooRank(SpecInFolder(folder, rank, size),
                             [&](Communicator& communicator) {
                               running.Open();
                               return BroadcastForever(communicator);
                             });
        });
      }
      running.Wait(size);
      // No message is at its end when its partner has stopped.
      std::this_thread::sleep_for(milliseconds(200));
      processes.Signal(1 - killed, SIGSTOP);
      std::this_thread::sleep_for(milliseconds(200));
      processes.Signal(killed, SIGKILL);
      processes.Signal(1 - killed, SIGCONT);
      const auto start = Clock::now();
      const auto results = processes.Wait();
      EXPECT_THAT(results[static_cast<size_t>(1 - killed)],
                  StatusIs(Code::kUnavailable, HasSubstr("broadcast")))
          << killed << " of " << size;
      EXPECT_LT(Clock::now() - start, kLong / 5);
    }
  }
}

TEST(GlooCommunicatorErrorTest, AStoppedRankIsLateForAllOthers) {
  const TemporaryFolder folder;
  const ProcessGate running;
  RankProcesses processes;
  for (int rank = 0; rank < 3; ++rank) {
    processes.Start([&] {
      const auto communicator =
          OpenCommunicator(SpecInFolder(folder, rank, 3, milliseconds(2000)));
      running.Open();
      SPILLWAY_RETURN_IF_ERROR(communicator.status());
      return ReduceForever(**communicator);
    });
  }
  running.Wait(3);
  processes.Signal(1, SIGSTOP);
  const auto results = processes.Wait(/*left_out=*/1);
  EXPECT_THAT(results[0],
              StatusIs(Code::kDeadlineExceeded, HasSubstr("late: rank 1")));
  EXPECT_THAT(results[2],
              StatusIs(Code::kDeadlineExceeded, HasSubstr("late: rank 1")));
}

TEST(GlooCommunicatorErrorTest, AnAbortReachesThoseThatWait) {
  for (const bool at_address : {false, true}) {
    const TemporaryFolder folder;
    const std::string address = FreeAddress();
    const auto results = RunRankProcesses(3, [&](int rank) {
      CommSpec spec = SpecInFolder(folder, rank, 3);
      if (at_address) {
        spec.identity.rendezvous_folder.clear();
        spec.identity.rendezvous_address = address;
      }
      return RunGlooRank(spec, [&](Communicator& communicator) {
        if (rank != 1) return communicator.Barrier();
        communicator.Abort(InvalidArgument("the labels are wrong"));
        return communicator.Barrier();
      });
    });
    EXPECT_THAT(results[0],
                StatusIs(Code::kAborted, HasSubstr("rank 1: the labels are")));
    EXPECT_THAT(results[1], StatusIs(kInvalid, _));
    EXPECT_THAT(results[2],
                StatusIs(Code::kAborted, HasSubstr("rank 1: the labels are")));
  }
}

TEST(GlooCommunicatorErrorTest, AnAbortEndsACallOfItsOwnRank) {
  const TemporaryFolder folder;
  const ProcessGate done;
  const auto results = RunRankProcesses(2, [&](int rank) {
    return RunGlooRank(
        SpecInFolder(folder, rank, 2), [&](Communicator& communicator) {
          if (rank == 1) {
            done.Wait(1);
            return absl::OkStatus();
          }
          const std::jthread watchdog([&] {
            std::this_thread::sleep_for(milliseconds(50));
            communicator.Abort(InvalidArgument("no more patience"));
          });
          const absl::Status status = communicator.Barrier();
          done.Open();
          return status;
        });
  });
  EXPECT_THAT(results[0], StatusIs(kInvalid, HasSubstr("no more patience")));
}

TEST(GlooCommunicatorErrorTest, ARankThatLeavesIsNamed) {
  const TemporaryFolder folder;
  const auto results = RunRankProcesses(2, [&](int rank) {
    return RunGlooRank(
        SpecInFolder(folder, rank, 2), [&](Communicator& communicator) {
          return rank == 1 ? absl::OkStatus() : communicator.Barrier();
        });
  });
  EXPECT_THAT(results[0],
              StatusIs(Code::kUnavailable, HasSubstr("rank 1: it has left")));
  EXPECT_THAT(results[1], IsOk());
}

TEST(GlooCommunicatorErrorTest, CallsThatDifferAreNamed) {
  const TemporaryFolder folder;
  const auto results = RunRankProcesses(2, [&](int rank) {
    CommSpec spec = SpecInFolder(folder, rank, 2);
    spec.options.check_calls = true;
    return RunGlooRank(spec, [&](Communicator& communicator) {
      float data[4] = {};
      return rank == 0 ? communicator.AllReduce(data, 4, DType::kFloat32)
                       : communicator.Broadcast(data, 12, 0);
    });
  });
  EXPECT_THAT(results, Each(StatusIs(Code::kAborted, HasSubstr("instead"))));
}

TEST(GlooOpeningTest, AMissingRankIsNamedWithTheFolder) {
  const TemporaryFolder folder;
  const CommSpec spec = SpecInFolder(folder, 0, 2, milliseconds(100));
  EXPECT_THAT(OpenCommunicator(spec),
              StatusIs(Code::kDeadlineExceeded,
                       AllOf(HasSubstr("rank 1 has not come to the folder " +
                                       folder.path()),
                             HasSubstr("within 100 ms"))));
}

TEST(GlooOpeningTest, AMissingServerIsNamedWithItsAddress) {
  const std::string address = FreeAddress();
  const CommSpec spec = {
      .backend = "gloo",
      .identity = {.rank = 1, .size = 2, .rendezvous_address = address},
      .options = {.timeout = milliseconds(100)}};
  EXPECT_THAT(OpenCommunicator(spec),
              StatusIs(Code::kDeadlineExceeded, HasSubstr(address)));
}

TEST(GlooOpeningTest, FilesOfAnotherRunAreNotRead) {
  const TemporaryFolder folder;
  // Of the earlier run, only its files remain.
  const auto earlier = RunRankProcesses(2, [&](int rank) {
    CommSpec spec = SpecInFolder(folder, rank, 2);
    spec.identity.run_id = "run 0";
    return RunGlooRank(spec, CheckAll);
  });
  EXPECT_THAT(earlier, Each(IsOk()));
  const CommSpec spec = SpecInFolder(folder, 0, 2, milliseconds(100));
  EXPECT_THAT(OpenCommunicator(spec),
              StatusIs(Code::kDeadlineExceeded, HasSubstr("rank 1 has not")));
}

TEST(GlooOpeningTest, ARankThatIsStartedTwiceIsNamed) {
  const TemporaryFolder folder;
  const CommSpec spec = SpecInFolder(folder, 0, 2, milliseconds(50));
  EXPECT_THAT(OpenCommunicator(spec), StatusIs(Code::kDeadlineExceeded, _));
  EXPECT_THAT(OpenCommunicator(spec),
              StatusIs(Code::kAborted,
                       AllOf(HasSubstr("rank 0 on"), HasSubstr("'run 1'"))));
}

TEST(GlooOpeningTest, RanksOfDifferentSizesAreNamed) {
  for (const bool at_address : {false, true}) {
    const TemporaryFolder folder;
    const std::string address = FreeAddress();
    const auto results = RunRankProcesses(2, [&](int rank) {
      CommSpec spec = SpecInFolder(folder, rank, 2 + rank);
      if (at_address) {
        spec.identity.rendezvous_folder.clear();
        spec.identity.rendezvous_address = address;
      }
      return OpenCommunicator(spec).status();
    });
    EXPECT_THAT(results[0],
                StatusIs(Code::kAborted,
                         AllOf(HasSubstr("number of ranks is '2' for rank 0"),
                               HasSubstr("'3' for rank 1"))));
    EXPECT_THAT(results[1],
                StatusIs(Code::kAborted, HasSubstr("number of ranks is '3'")));
  }
}

TEST(GlooOpeningTest, AnotherVersionIsNamed) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.File("run%201"));
  const std::string greeting = "1\n2\nfar\nrun 1\n0.0.0";
  char length[9];
  snprintf(length, sizeof(length), "%08zx", greeting.size());
  std::ofstream(folder.File("run%201/greeting_1")) << length << greeting;
  EXPECT_THAT(
      OpenCommunicator(SpecInFolder(folder, 0, 2)),
      StatusIs(Code::kAborted, AllOf(HasSubstr("version of Spillway"),
                                     HasSubstr("'0.0.0' for rank 1 on far"))));
}

TEST(GlooOpeningTest, BadSpecsAreRefused) {
  const TemporaryFolder folder;
  CommSpec spec = SpecInFolder(folder, 0, 2);
  spec.identity.run_id.clear();
  EXPECT_THAT(OpenCommunicator(spec),
              StatusIs(kInvalid, HasSubstr("SPILLWAY_RUN_ID")));
  spec = SpecInFolder(folder, 0, 2);
  spec.identity.rendezvous_folder = folder.File("missing");
  EXPECT_THAT(OpenCommunicator(spec),
              StatusIs(kInvalid, HasSubstr("missing does not exist")));
  spec.identity.rendezvous_folder.clear();
  EXPECT_THAT(OpenCommunicator(spec),
              StatusIs(kInvalid, HasSubstr("SPILLWAY_RENDEZVOUS")));
  spec.identity.rendezvous_address = "localhost";
  EXPECT_THAT(OpenCommunicator(spec),
              StatusIs(kInvalid, HasSubstr("'localhost' is no address")));
  spec = SpecInFolder(folder, 0, 2);
  spec.interface = "nonet7";
  EXPECT_THAT(OpenCommunicator(spec),
              StatusIs(kInvalid, HasSubstr("interface nonet7")));
}

// A run of three whose random rank is killed after a random time, maybe while
// it opens. No survivor may wait for ever or go on.
class KilledRun {
 public:
  explicit KilledRun(int number)
      : random_(Philox4x32(7, static_cast<uint64_t>(number))) {
    for (int rank = 0; rank < kRanks; ++rank) {
      processes_.Start([this, rank] {
        return RunGlooRank(
            SpecInFolder(folder_, rank, kRanks, milliseconds(3000)),
            ReduceForever);
      });
    }
  }

  void Kill() const {
    std::this_thread::sleep_for(std::chrono::microseconds(random_[0] % 20'000));
    processes_.Signal(killed_, SIGKILL);
  }

  void Check() {
    auto results = processes_.Wait();
    results.erase(results.begin() + killed_);
    EXPECT_THAT(results, Each(AnyOf(StatusIs(Code::kUnavailable, _),
                                    StatusIs(Code::kDeadlineExceeded, _))));
  }

 private:
  static constexpr int kRanks = 3;

  const std::array<uint32_t, 4> random_;
  const int killed_ = static_cast<int>(random_[1] % kRanks);
  const TemporaryFolder folder_;
  RankProcesses processes_;
};

TEST(GlooCommunicatorErrorTest, ARankMayBeKilledAtAnyTime) {
  constexpr int kAtOnce = 10;
  for (int first = 0; first < NumCases(50); first += kAtOnce) {
    std::list<KilledRun> runs;
    for (int i = 0; i < kAtOnce; ++i) runs.emplace_back(first + i);
    for (const KilledRun& run : runs) run.Kill();
    for (KilledRun& run : runs) run.Check();
  }
}

}  // namespace
}  // namespace spillway
