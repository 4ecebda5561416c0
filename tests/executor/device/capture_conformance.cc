// The contract of every Device that can capture (executor/device/stream.h).
#include <cstring>
#include <memory>
#include <vector>

#include "base/units.h"
#include "tests/executor/device/device_conformance.h"

namespace spillway {
namespace {

using ::testing::_;
using testing::AddingTask;
using testing::CountingTask;
using testing::DeviceConformance;
using ::testing::Each;
using testing::FailingTask;
using testing::IsOk;
using testing::StatusIs;

constexpr int64_t kBytes = 16_KiB;

class CaptureConformance : public DeviceConformance {
 protected:
  void SetUp() override {
    DeviceConformance::SetUp();
    if (IsSkipped()) return;
    if (!device_->can_capture()) GTEST_SKIP() << "has no graphs";
    memory_ = Allocate(MemorySpace::kDevice, kBytes);
    source_ = Allocate(MemorySpace::kHost, kBytes);
    result_ = Allocate(MemorySpace::kHost, kBytes);
    stream_ = NewStream();
  }

  static void Fill(DeviceMemory& memory, int fill) {
    std::memset(memory.data(), fill, static_cast<size_t>(kBytes));
  }
  static std::vector<std::byte> Read(const DeviceMemory& memory) {
    return {memory.data(), memory.data() + kBytes};
  }

  // Copies the source's bytes to the device and on to the result.
  void IssueRoundTrip(Stream& stream) {
    EXPECT_THAT(stream.CopyToDevice(memory_->data(), source_->data(), kBytes),
                IsOk());
    EXPECT_THAT(stream.CopyToHost(result_->data(), memory_->data(), kBytes),
                IsOk());
  }

  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<DeviceMemory> source_;
  std::unique_ptr<DeviceMemory> result_;
  std::unique_ptr<Stream> stream_;
};

TEST_P(CaptureConformance, WorkRunsAtEachLaunchAndNotBefore) {
  Fill(*source_, 1);
  Fill(*result_, 0);
  ASSERT_THAT(stream_->BeginCapture(), IsOk());
  IssueRoundTrip(*stream_);
  ASSERT_OK_AND_ASSIGN(const auto work, stream_->EndCapture());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_THAT(Read(*result_), Each(std::byte{0}));
  for (int i = 2; i < 6; ++i) {
    Fill(*source_, i);
    EXPECT_THAT(stream_->Launch(*work), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    EXPECT_THAT(Read(*result_), Each(static_cast<std::byte>(i)));
  }
}

TEST_P(CaptureConformance, ALaunchHasItsPlaceInTheStream) {
  const auto before = Allocate(MemorySpace::kHost, kBytes);
  const auto after = Allocate(MemorySpace::kHost, kBytes);
  Fill(*source_, 1);
  Fill(*before, 2);
  ASSERT_THAT(stream_->BeginCapture(), IsOk());
  IssueRoundTrip(*stream_);
  ASSERT_OK_AND_ASSIGN(const auto work, stream_->EndCapture());
  EXPECT_THAT(stream_->CopyToDevice(memory_->data(), before->data(), kBytes),
              IsOk());
  EXPECT_THAT(stream_->Launch(*work), IsOk());
  EXPECT_THAT(stream_->CopyToHost(after->data(), memory_->data(), kBytes),
              IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_THAT(Read(*after), Each(std::byte{1}));
}

// The writer and the reader take turns on one buffer, as in
// EventsOrderStreamsThatShareABuffer.
TEST_P(CaptureConformance, EventsOrderTheStreamsOfACapture) {
  constexpr int kRounds = 10;
  const auto sources = Allocate(MemorySpace::kHost, kRounds * kBytes);
  const auto results = Allocate(MemorySpace::kHost, kRounds * kBytes);
  const auto reader = NewStream();
  std::vector<std::unique_ptr<Event>> written;
  std::vector<std::unique_ptr<Event>> taken;
  ASSERT_THAT(stream_->BeginCapture(), IsOk());
  for (int i = 0; i < kRounds; ++i) {
    written.push_back(NewEvent());
    taken.push_back(NewEvent());
    EXPECT_THAT(stream_->CopyToDevice(memory_->data(),
                                      sources->data() + i * kBytes, kBytes),
                IsOk());
    EXPECT_THAT(stream_->Record(written[i].get()), IsOk());
    EXPECT_THAT(reader->Wait(written[i].get()), IsOk());
    EXPECT_THAT(reader->CopyToHost(results->data() + i * kBytes,
                                   memory_->data(), kBytes),
                IsOk());
    EXPECT_THAT(reader->Record(taken[i].get()), IsOk());
    EXPECT_THAT(stream_->Wait(taken[i].get()), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const auto work, stream_->EndCapture());
  for (int launch = 0; launch < 3; ++launch) {
    for (int i = 0; i < kRounds; ++i) {
      std::memset(sources->data() + i * kBytes, 20 * launch + i, kBytes);
    }
    EXPECT_THAT(stream_->Launch(*work), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    EXPECT_EQ(std::memcmp(results->data(), sources->data(), kRounds * kBytes),
              0);
  }
}

TEST_P(CaptureConformance, TasksRunOnceWhenTheyAreCaptured) {
  CountingTask counting;
  ASSERT_THAT(stream_->BeginCapture(), IsOk());
  EXPECT_THAT(stream_->Submit(&counting), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto work, stream_->EndCapture());
  EXPECT_EQ(counting.runs, 1);
  EXPECT_THAT(stream_->Launch(*work), IsOk());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_EQ(counting.runs, 1);
}

TEST_P(CaptureConformance, TasksOnTheHostRunAtEachLaunch) {
  AddingTask add(*source_);
  Fill(*source_, 0);
  ASSERT_THAT(stream_->BeginCapture(), IsOk());
  EXPECT_THAT(stream_->SubmitOnHost(&add), IsOk());
  IssueRoundTrip(*stream_);
  ASSERT_OK_AND_ASSIGN(const auto work, stream_->EndCapture());
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  for (int i = 1; i < 5; ++i) {
    EXPECT_THAT(stream_->Launch(*work), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    EXPECT_THAT(Read(*result_), Each(static_cast<std::byte>(i)));
  }
}

TEST_P(CaptureConformance, AFailedTasksErrorIsKeptForSynchronize) {
  FailingTask failing(absl::InternalError("planted"));
  CountingTask counting;
  ASSERT_THAT(stream_->BeginCapture(), IsOk());
  EXPECT_THAT(stream_->Submit(&failing), IsOk());
  EXPECT_THAT(stream_->Submit(&counting), IsOk());
  EXPECT_THAT(stream_->EndCapture(), IsOk());
  EXPECT_EQ(counting.runs, 0);
  EXPECT_THAT(stream_->Synchronize(),
              StatusIs(absl::StatusCode::kInternal, "planted"));
  EXPECT_THAT(stream_->Synchronize(), IsOk());
}

TEST_P(CaptureConformance, StreamsWorkAsBeforeWhenACaptureHasEnded) {
  const auto other = NewStream();
  const auto forked = NewEvent();
  const auto joined = NewEvent();
  ASSERT_THAT(stream_->BeginCapture(), IsOk());
  EXPECT_THAT(stream_->Record(forked.get()), IsOk());
  EXPECT_THAT(other->Wait(forked.get()), IsOk());
  EXPECT_THAT(other->Record(joined.get()), IsOk());
  EXPECT_THAT(stream_->Wait(joined.get()), IsOk());
  EXPECT_THAT(stream_->EndCapture(), IsOk());
  for (Stream* stream : {stream_.get(), other.get()}) {
    Fill(*source_, 7);
    Fill(*result_, 0);
    IssueRoundTrip(*stream);
    EXPECT_THAT(stream->Record(forked.get()), IsOk());
    EXPECT_THAT(stream->Wait(forked.get()), IsOk());
    EXPECT_THAT(stream->Synchronize(), IsOk());
    EXPECT_THAT(Read(*result_), Each(std::byte{7}));
  }
}

TEST_P(CaptureConformance, AStreamThatIsNotWaitedForFailsTheCaptureOnly) {
  const auto other = NewStream();
  const auto forked = NewEvent();
  ASSERT_THAT(stream_->BeginCapture(), IsOk());
  EXPECT_THAT(stream_->Record(forked.get()), IsOk());
  EXPECT_THAT(other->Wait(forked.get()), IsOk());
  IssueRoundTrip(*other);
  EXPECT_THAT(stream_->EndCapture(), StatusIs(absl::StatusCode::kInternal, _));
  Fill(*source_, 8);
  IssueRoundTrip(*stream_);
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_THAT(other->Synchronize(), IsOk());
  EXPECT_THAT(Read(*result_), Each(std::byte{8}));
}

INSTANTIATE_TEST_SUITE_P(AllDevices, CaptureConformance,
                         ::testing::Values("cuda", "fake_cuda"));

class NoCaptureConformance : public DeviceConformance {};

TEST_P(NoCaptureConformance, IsUnimplemented) {
  const auto stream = NewStream();
  EXPECT_FALSE(device_->can_capture());
  EXPECT_THAT(stream->BeginCapture(),
              StatusIs(absl::StatusCode::kUnimplemented, _));
  EXPECT_THAT(stream->EndCapture(),
              StatusIs(absl::StatusCode::kUnimplemented, _));
}

INSTANTIATE_TEST_SUITE_P(OtherDevices, NoCaptureConformance,
                         ::testing::Values("inline", "cpu"));

}  // namespace
}  // namespace spillway
