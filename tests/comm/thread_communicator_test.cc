#include "comm/thread_communicator.h"

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "tests/comm/conformance.h"
#include "tests/comm/run_ranks.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::_;
using ::testing::AllOf;
using testing::CheckCollectives;
using testing::CheckSameBits;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::RunRanks;
using ::testing::SizeIs;
using testing::StatusIs;
using Code = absl::StatusCode;

class ThreadCommunicatorTest : public ::testing::TestWithParam<int> {};

TEST_P(ThreadCommunicatorTest, ComputesEveryCollective) {
  for (const bool check_calls : {false, true}) {
    EXPECT_THAT(
        RunRanks(GetParam(), {.check_calls = check_calls}, CheckCollectives),
        Each(IsOk()));
  }
}

TEST_P(ThreadCommunicatorTest, AddsInTheOrderOfTheRanks) {
  const auto check = [](Communicator& communicator) {
    return CheckSameBits(communicator, /*is_ordered=*/true);
  };
  EXPECT_THAT(RunRanks(GetParam(), {}, check), Each(IsOk()));
  EXPECT_THAT(RunRanks(GetParam(), {.deterministic_reduce = true}, check),
              Each(IsOk()));
}

// 3 ranks, 3 MB/s: each call by itself, in a ring.
TEST(SlowCommunicatorTest, CallsLastAsLongAsOnASlowNetwork) {
  const auto run = [](Communicator& communicator) -> absl::Status {
    const auto lasts = [&](double least_ms, const absl::Status& status) {
      const auto ms =
          static_cast<double>(communicator.statistics().wait_ns) * 1e-6;
      EXPECT_GE(ms, least_ms);
      return status;
    };
    std::vector<float> data(15'000);  // 60 kB
    std::vector<float> all(45'000);
    SPILLWAY_RETURN_IF_ERROR(lasts(
        26.6, communicator.AllReduce(data.data(), 15'000, DType::kFloat32)));
    SPILLWAY_RETURN_IF_ERROR(
        lasts(66.6, communicator.AllGather(data.data(), all.data(), 60'000)));
    return lasts(86.6, communicator.Broadcast(data.data(), 60'000, 0));
  };
  EXPECT_THAT(RunRanks(3, {.slow_bytes_per_second = 3e6}, run), Each(IsOk()));
}

TEST(SlowCommunicatorTest, AbortEndsACall) {
  const auto run = [](Communicator& communicator) -> absl::Status {
    const std::jthread aborts([&] {
      while (communicator.statistics().calls == 0) std::this_thread::yield();
      communicator.Abort(absl::AbortedError("enough"));
    });
    float data = 1;  // 4 bytes at one byte a day
    return communicator.AllReduce(&data, 1, DType::kFloat32);
  };
  EXPECT_THAT(RunRanks(2, {.slow_bytes_per_second = 1e-5}, run),
              Each(StatusIs(Code::kAborted, HasSubstr("enough"))));
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadCommunicatorTest,
                         ::testing::Values(1, 2, 3, 4, 7));

// Threads in each of several processes, which are threads here.
std::vector<absl::Status> RunProcesses(
    int processes, int threads, const CommOptions& options,
    const std::function<absl::Status(Communicator&)>& run) {
  std::vector<absl::Status> results(static_cast<size_t>(processes * threads),
                                    absl::UnknownError("not run"));
  RunRanks(processes, options, [&](Communicator& process) {
    auto ranks = NewThreadCommunicators(threads, options, &process);
    std::vector<std::jthread> running;
    for (auto& rank : ranks) {
      running.emplace_back([&] {
        results[static_cast<size_t>(rank->rank())] = run(*rank);
        rank.reset();
      });
    }
    running.clear();  // joins
    return absl::OkStatus();
  });
  return results;
}

TEST(ProcessesOfThreadsTest, ComputeEveryCollective) {
  for (const auto& [processes, threads] :
       {std::pair(1, 3), std::pair(2, 1), std::pair(2, 3), std::pair(3, 2)}) {
    SCOPED_TRACE(processes * 10 + threads);
    for (const CommOptions& options :
         {CommOptions{}, CommOptions{.check_calls = true},
          CommOptions{.deterministic_reduce = true}}) {
      const auto results =
          RunProcesses(processes, threads, options, CheckCollectives);
      EXPECT_THAT(results, SizeIs(processes * threads));
      EXPECT_THAT(results, Each(IsOk()));
    }
    EXPECT_THAT(RunProcesses(processes, threads, {},
                             [](Communicator& communicator) {
                               return CheckSameBits(communicator,
                                                    /*is_ordered=*/false);
                             }),
                Each(IsOk()));
    EXPECT_THAT(RunProcesses(processes, threads, {.deterministic_reduce = true},
                             [](Communicator& communicator) {
                               return CheckSameBits(communicator,
                                                    /*is_ordered=*/true);
                             }),
                Each(IsOk()));
  }
}

TEST(ProcessesOfThreadsTest, OneThatGivesUpEndsAllProcesses) {
  const auto results =
      RunProcesses(2, 2, {}, [](Communicator& communicator) -> absl::Status {
        if (communicator.rank() == 3) {
          communicator.Abort(absl::InternalError("the disk is full"));
          return absl::OkStatus();
        }
        while (true) {
          if (auto status = communicator.Barrier(); !status.ok()) return status;
        }
      });
  for (const int rank : {0, 1, 2}) {
    EXPECT_THAT(results[static_cast<size_t>(rank)],
                StatusIs(Code::kAborted, HasSubstr("the disk is full")));
  }
}

TEST(ProcessesOfThreadsTest, OneThatIsLateIsLateForAll) {
  const auto results = RunProcesses(
      2, 2, {.timeout = std::chrono::milliseconds(200)},
      [](Communicator& communicator) -> absl::Status {
        if (communicator.rank() == 2) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1500));
          return absl::OkStatus();
        }
        return communicator.Barrier();
      });
  for (const int rank : {0, 1, 3}) {
    EXPECT_THAT(results[static_cast<size_t>(rank)],
                StatusIs(Code::kDeadlineExceeded, _));
  }
}

TEST(ThreadCommunicatorErrorTest, ARankThatLeavesIsLost) {
  const auto results =
      RunRanks(3, {}, [](Communicator& communicator) -> absl::Status {
        if (communicator.rank() == 1) return absl::OkStatus();
        return communicator.Barrier();
      });
  EXPECT_THAT(results[0], StatusIs(Code::kUnavailable,
                                   AllOf(HasSubstr("rank 0, call 1, barrier"),
                                         HasSubstr("rank 1 has left"))));
  EXPECT_THAT(results[2], StatusIs(Code::kUnavailable, _));
}

TEST(ThreadCommunicatorErrorTest, ARankThatIsLateIsNamed) {
  const CommOptions options = {.timeout = std::chrono::milliseconds(50)};
  const auto results =
      RunRanks(3, options, [](Communicator& communicator) -> absl::Status {
        float one = 1;
        if (communicator.rank() == 2) {
          std::this_thread::sleep_for(std::chrono::milliseconds(400));
        }
        return communicator.AllReduce(&one, 1, DType::kFloat32);
      });
  EXPECT_THAT(results,
              Each(StatusIs(Code::kDeadlineExceeded,
                            HasSubstr("rank 2 has not arrived within 50 ms"))));
}

TEST(ThreadCommunicatorErrorTest, CallsThatDifferAreNamed) {
  const auto results =
      RunRanks(2, {.check_calls = true}, [](Communicator& communicator) {
        float data[4] = {};
        return communicator.rank() == 0
                   ? communicator.AllReduce(data, 4, DType::kFloat32)
                   : communicator.Broadcast(data, 12, 0);
      });
  EXPECT_THAT(results[0],
              StatusIs(Code::kAborted,
                       HasSubstr("rank 1 calls broadcast of 12 bytes from "
                                 "rank 0 instead")));
  EXPECT_THAT(results[1],
              StatusIs(Code::kAborted,
                       HasSubstr("all-reduce of 16 bytes (float32, sum)")));
}

TEST(ThreadCommunicatorErrorTest, AnAbortReachesThoseThatWait) {
  const auto results = RunRanks(2, {}, [](Communicator& communicator) {
    if (communicator.rank() == 0) return communicator.Barrier();
    communicator.Abort(InvalidArgument("the labels are wrong"));
    return communicator.Barrier();
  });
  EXPECT_THAT(results[0],
              StatusIs(Code::kAborted, HasSubstr("rank 1: the labels are")));
  EXPECT_THAT(results[1], StatusIs(Code::kInvalidArgument, _));
}

TEST(ThreadCommunicatorErrorTest, AfterAnErrorEveryCallFails) {
  const CommOptions options = {.timeout = std::chrono::milliseconds(20)};
  auto ranks = NewThreadCommunicators(2, options);
  const absl::Status first = ranks[0]->Barrier();
  EXPECT_THAT(first, StatusIs(Code::kDeadlineExceeded, _));
  char byte = 0;
  EXPECT_EQ(ranks[0]->Broadcast(&byte, 1, 0), first);
  EXPECT_THAT(ranks[1]->Barrier(), StatusIs(Code::kDeadlineExceeded, _));
}

TEST(SelfCommunicatorTest, IsARunOfOneRank) {
  const auto self = NewSelfCommunicator();
  EXPECT_EQ(self->size(), 1);
  EXPECT_EQ(self->info().backend, "self");
  EXPECT_THAT(CheckCollectives(*self), IsOk());
  EXPECT_GT(self->statistics().calls, 0);
  bool flag = false;
  EXPECT_THAT(self->AllReduce(&flag, 1, DType::kBool),
              StatusIs(Code::kInvalidArgument, _));
  EXPECT_THAT(self->Broadcast(&flag, 1, 1),
              StatusIs(Code::kInvalidArgument,
                       HasSubstr("there is no rank 1 in a run of 1")));
}

}  // namespace
}  // namespace spillway
