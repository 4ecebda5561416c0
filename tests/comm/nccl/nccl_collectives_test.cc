#include "comm/nccl/nccl_collectives.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "comm/thread_communicator.h"
#include "gmock/gmock.h"
#include "tests/comm/conformance.h"
#include "tests/comm/nccl/fake_nccl.h"
#include "tests/comm/run_ranks.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;
using Code = absl::StatusCode;
using std::chrono::milliseconds;

constexpr auto kScarce = milliseconds(300);
constexpr auto kAmple = milliseconds(60'000);

class NcclCollectivesTest : public ::testing::Test {
 protected:
  // Of each rank, a thread: its collectives, and a stream of its GPU.
  struct Rank {
    Communicator& host;
    StreamCollectives& nccl;
    void* stream;
  };
  using RunRank = std::function<absl::Status(const Rank&)>;

  absl::Status RunOne(Communicator& host, milliseconds timeout,
                      const RunRank& run) {
    SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<StreamCollectives> opened,
                              OpenNcclCollectives(nccl_, host, timeout));
    void* stream = nullptr;
    EXPECT_EQ(cuda_.StreamCreate(&stream), 0);
    absl::Status status =
        run({.host = host, .nccl = *opened, .stream = stream});
    EXPECT_EQ(cuda_.StreamSynchronize(stream), 0);
    EXPECT_EQ(cuda_.StreamDestroy(stream), 0);
    return status;
  }

  std::vector<absl::Status> RunAll(int size, milliseconds timeout,
                                   const RunRank& run) {
    return testing::RunRanks(size, {}, [&](Communicator& host) {
      return RunOne(host, timeout, run);
    });
  }

  // One all-reduce of a float by itself, and its step.
  absl::Status Step(const Rank& rank, float* data) {
    rank.nccl.Begin();
    const absl::Status queued = rank.nccl.AllReduce(
        data, 1, DType::kFloat32, ReduceOp::kSum, rank.stream);
    EXPECT_EQ(cuda_.StreamSynchronize(rank.stream), 0);
    const absl::Status ended = rank.nccl.End();
    return ended.ok() ? queued : ended;
  }

  testing::FakeCuda cuda_;
  testing::FakeNccl nccl_{testing::MeetingOfThreads(milliseconds(1000)),
                          [this](void* stream, std::function<void()> work) {
                            cuda_.Submit(stream, std::move(work));
                          }};
};

// Every collective of a Communicator, whose all-reduces are NCCL's.
class OnStreams final : public Communicator {
 public:
  OnStreams(testing::FakeCuda& cuda, Communicator& host,
            StreamCollectives& nccl, void* stream)
      : Communicator(host.info(), {}),
        cuda_(cuda),
        host_(host),
        nccl_(nccl),
        stream_(stream) {}

 protected:
  absl::Status DoAllReduce(void* data, int64_t count, DType dtype,
                           ReduceOp op) override {
    nccl_.Begin();
    SPILLWAY_RETURN_IF_ERROR(nccl_.AllReduce(data, count, dtype, op, stream_));
    EXPECT_EQ(cuda_.StreamSynchronize(stream_), 0);
    return nccl_.End();
  }
  absl::Status DoBroadcast(void* data, int64_t bytes, int root) override {
    return host_.Broadcast(data, bytes, root);
  }
  absl::Status DoAllGather(const void* in, void* out, int64_t bytes) override {
    return host_.AllGather(in, out, bytes);
  }
  absl::Status DoBarrier() override { return host_.Barrier(); }
  void DoAbort(const absl::Status& reason) override { host_.Abort(reason); }

 private:
  testing::FakeCuda& cuda_;
  Communicator& host_;
  StreamCollectives& nccl_;
  void* const stream_;
};

TEST_F(NcclCollectivesTest, AddsEveryTypeOnAllRanks) {
  const auto run = [&](const Rank& rank) -> absl::Status {
    OnStreams all(cuda_, rank.host, rank.nccl, rank.stream);
    SPILLWAY_RETURN_IF_ERROR(testing::CheckCollectives(all));
    return testing::CheckSameBits(all, true);
  };
  for (const int size : {1, 2, 3, 4, 7}) {
    EXPECT_THAT(RunAll(size, kAmple, run), Each(IsOk()));
  }
}

TEST_F(NcclCollectivesTest, QueuesInTheOrderOfTheStream) {
  const auto run = [&](const Rank& rank) -> absl::Status {
    std::promise<void> may_run;
    float data = 0;
    // A kernel before it, which has not run when it is queued.
    cuda_.Submit(rank.stream, [&] {
      may_run.get_future().wait();
      data = 1 + static_cast<float>(rank.host.rank());
    });
    rank.nccl.Begin();
    absl::Status queued = rank.nccl.AllReduce(&data, 1, DType::kFloat32,
                                              ReduceOp::kSum, rank.stream);
    may_run.set_value();
    EXPECT_EQ(cuda_.StreamSynchronize(rank.stream), 0);
    EXPECT_EQ(data, 3);
    EXPECT_EQ(rank.nccl.name(), "nccl 2.28.9");
    EXPECT_EQ(rank.nccl.statistics().calls, 1);
    EXPECT_EQ(rank.nccl.statistics().bytes, 4);
    queued.Update(rank.nccl.End());
    return queued;
  };
  EXPECT_THAT(RunAll(2, kAmple, run), Each(IsOk()));
}

TEST_F(NcclCollectivesTest, AbortReachesThemThroughTheCommunicator) {
  const auto host = NewSelfCommunicator();
  ASSERT_OK_AND_ASSIGN(auto opened, OpenNcclCollectives(nccl_, *host, kAmple));
  host->SetStreams(std::move(opened));
  host->Abort(absl::AbortedError("enough"));
  float data = 0;
  EXPECT_THAT(host->streams()->AllReduce(&data, 1, DType::kFloat32,
                                         ReduceOp::kSum, nullptr),
              StatusIs(Code::kAborted, HasSubstr("enough")));
  EXPECT_THAT(host->streams()->End(),
              StatusIs(Code::kAborted, HasSubstr("enough")));
}

TEST_F(NcclCollectivesTest, BoolHasNoSum) {
  EXPECT_THAT(RunAll(1, kAmple,
                     [](const Rank& rank) {
                       bool data = true;
                       return rank.nccl.AllReduce(&data, 1, DType::kBool,
                                                  ReduceOp::kSum, rank.stream);
                     }),
              Each(StatusIs(testing::kInvalid, HasSubstr("bool"))));
}

TEST_F(NcclCollectivesTest, AnOldVersionIsRefused) {
  nccl_.version = 21708;
  const auto host = NewSelfCommunicator();
  EXPECT_THAT(OpenNcclCollectives(nccl_, *host, kAmple),
              StatusIs(testing::kInvalid, HasSubstr("2.17.8 is before 2.18")));
}

TEST_F(NcclCollectivesTest, WithoutAnIdNoRankWaits) {
  nccl_.Fail("ncclGetUniqueId", 2);
  EXPECT_THAT(RunAll(3, kAmple, [](const Rank&) { return absl::OkStatus(); }),
              Each(::testing::Not(IsOk())));
}

TEST_F(NcclCollectivesTest, ARankThatDoesNotComeIsLate) {
  const auto results = testing::RunRanks(2, {}, [&](Communicator& host) {
    NcclApi::UniqueId id;
    // Takes the id, and no more.
    if (host.rank() == 1) return host.Broadcast(id.data(), 128, 0);
    return OpenNcclCollectives(nccl_, host, kScarce).status();
  });
  EXPECT_THAT(results[0], StatusIs(Code::kDeadlineExceeded,
                                   AllOf(HasSubstr("ncclCommInitRankConfig"),
                                         HasSubstr("within 300 ms"))));
  EXPECT_THAT(results[1], IsOk());
}

TEST_F(NcclCollectivesTest, ALostRankEndsTheStep) {
  const auto results = RunAll(2, kAmple, [&](const Rank& rank) -> absl::Status {
    float data = 1;
    SPILLWAY_RETURN_IF_ERROR(Step(rank, &data));
    if (rank.host.rank() == 1) return absl::OkStatus();  // leaves
    absl::Status lost = Step(rank, &data);
    // All later calls have the same error.
    EXPECT_EQ(Step(rank, &data), lost);
    return lost;
  });
  EXPECT_THAT(results[0],
              StatusIs(Code::kUnavailable, HasSubstr("remote process exited")));
  EXPECT_THAT(results[1], IsOk());
}

TEST_F(NcclCollectivesTest, ALateRankEndsTheStep) {
  std::promise<void> has_ended;
  const auto results =
      RunAll(2, kScarce, [&](const Rank& rank) -> absl::Status {
        float data = 1;
        if (rank.host.rank() == 1) {
          has_ended.get_future().wait();
          return absl::OkStatus();
        }
        absl::Status late = Step(rank, &data);
        has_ended.set_value();
        return late;
      });
  EXPECT_THAT(results[0], StatusIs(Code::kDeadlineExceeded,
                                   HasSubstr("not ended within 300 ms")));
  EXPECT_THAT(results[1], IsOk());
}

TEST_F(NcclCollectivesTest, AnErrorOfACallIsTheRunsEnd) {
  EXPECT_THAT(
      RunAll(1, kAmple,
             [&](const Rank& rank) {
               nccl_.Fail("ncclAllReduce", 1);
               float data = 1;
               absl::Status first = Step(rank, &data);
               nccl_.Fail("ncclAllReduce", 0);
               EXPECT_EQ(Step(rank, &data), first);
               return first;
             }),
      Each(StatusIs(Code::kUnavailable, HasSubstr("ncclAllReduce: error 1"))));
  EXPECT_EQ(nccl_.calls("ncclCommAbort"), 1);
  EXPECT_EQ(nccl_.calls("ncclCommDestroy"), 0);
}

TEST_F(NcclCollectivesTest, AnotherThreadCanAbortAStep) {
  const auto results = RunAll(2, kAmple, [&](const Rank& rank) -> absl::Status {
    if (rank.host.rank() == 1) {
      rank.host.Barrier().IgnoreError();
      return absl::OkStatus();
    }
    const std::jthread other([&] {
      std::this_thread::sleep_for(milliseconds(50));
      rank.nccl.Abort(absl::AbortedError("stop"));
    });
    float data = 1;
    absl::Status aborted = Step(rank, &data);
    rank.host.Barrier().IgnoreError();
    return aborted;
  });
  EXPECT_THAT(results[0], StatusIs(Code::kAborted, HasSubstr("stop")));
}

// A host whose ranks have learned that one has ended the run.
class EndedHost final : public Communicator {
 public:
  EndedHost() : Communicator({.rank = 0, .size = 1, .backend = "ended"}, {}) {}
  absl::Status FindEnd() const override {
    return absl::AbortedError("rank 3: no space left");
  }

 protected:
  absl::Status DoAllReduce(void*, int64_t, DType, ReduceOp) override {
    return absl::OkStatus();
  }
  absl::Status DoBroadcast(void*, int64_t, int) override {
    return absl::OkStatus();
  }
  absl::Status DoAllGather(const void*, void*, int64_t) override {
    return absl::OkStatus();
  }
  absl::Status DoBarrier() override { return absl::OkStatus(); }
  void DoAbort(const absl::Status&) override {}
};

TEST_F(NcclCollectivesTest, TheEndOfTheRunEndsALongStep) {
  EndedHost host;
  EXPECT_THAT(RunOne(host, kAmple,
                     [&](const Rank& rank) {
                       rank.nccl.Begin();
                       const auto has_ended = [&] {
                         return !rank.nccl
                                     .AllReduce(nullptr, 0, DType::kFloat32,
                                                ReduceOp::kSum, rank.stream)
                                     .ok();
                       };
                       while (!has_ended()) {
                         std::this_thread::sleep_for(milliseconds(10));
                       }
                       return rank.nccl.End();
                     }),
              StatusIs(Code::kAborted, HasSubstr("rank 3: no space left")));
}

TEST_F(NcclCollectivesTest, GoodbyeIsSaidInOrder) {
  EXPECT_THAT(RunAll(3, kAmple, [](const Rank&) { return absl::OkStatus(); }),
              Each(IsOk()));
  EXPECT_EQ(nccl_.calls("ncclCommFinalize"), 3);
  EXPECT_EQ(nccl_.calls("ncclCommDestroy"), 3);
  EXPECT_EQ(nccl_.calls("ncclCommAbort"), 0);
}

}  // namespace
}  // namespace spillway
