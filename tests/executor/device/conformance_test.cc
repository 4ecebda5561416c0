// The contract of every Device (executor/device/*.h), on every backend. A
// backend that this build or machine lacks (UNAVAILABLE) is skipped.
#include <cstring>
#include <memory>
#include <vector>

#include "base/units.h"
#include "tests/executor/device/device_conformance.h"

namespace spillway {
namespace {

using ::testing::_;
using testing::AddingTask;
using ::testing::AllOf;
using testing::Bytes;
using testing::CountingTask;
using testing::DeviceConformance;
using ::testing::Each;
using testing::FailingTask;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

TEST_P(DeviceConformance, BytesSurviveTheWayToTheDeviceAndBack) {
  constexpr int64_t kBytes = 5_MiB + 12345;  // not a multiple of any chunk
  const auto memory = Allocate(MemorySpace::kDevice, kBytes);
  const auto source = Allocate(MemorySpace::kHost, kBytes);
  const auto result = Allocate(MemorySpace::kHost, kBytes);
  for (int64_t i = 0; i < kBytes; ++i) {
    source->data()[i] = static_cast<std::byte>(i * 31 + (i >> 13));
  }
  std::memset(result->data(), 0, static_cast<size_t>(kBytes));
  const auto stream = NewStream();
  EXPECT_THAT(stream->CopyToDevice(memory->data(), source->data(), kBytes),
              IsOk());
  EXPECT_THAT(stream->CopyToHost(result->data(), memory->data(), kBytes),
              IsOk());
  EXPECT_THAT(stream->Synchronize(), IsOk());
  EXPECT_EQ(std::memcmp(result->data(), source->data(), kBytes), 0);
}

TEST_P(DeviceConformance, CopiesOfZeroBytesDoNothing) {
  const auto stream = NewStream();
  EXPECT_THAT(stream->CopyToDevice(nullptr, nullptr, 0), IsOk());
  EXPECT_THAT(stream->CopyToHost(nullptr, nullptr, 0), IsOk());
  EXPECT_THAT(stream->Synchronize(), IsOk());
}

TEST_P(DeviceConformance, AStreamWorksInTheOrderOfIssue) {
  constexpr int64_t kBytes = 64_KiB;
  constexpr int kRounds = 40;
  const auto memory = Allocate(MemorySpace::kDevice, kBytes);
  const auto host = Allocate(MemorySpace::kHost, 2 * kRounds * kBytes);
  const auto stream = NewStream();
  for (int i = 0; i < kRounds; ++i) {
    std::byte* source = host->data() + 2 * i * kBytes;
    std::memset(source, i + 1, static_cast<size_t>(kBytes));
    EXPECT_THAT(stream->CopyToDevice(memory->data(), source, kBytes), IsOk());
    EXPECT_THAT(stream->CopyToHost(source + kBytes, memory->data(), kBytes),
                IsOk());
  }
  EXPECT_THAT(stream->Synchronize(), IsOk());
  for (int i = 0; i < kRounds; ++i) {
    const std::byte* result = host->data() + (2 * i + 1) * kBytes;
    EXPECT_EQ(std::memcmp(result, result - kBytes, kBytes), 0) << i;
  }
}

// Two streams take turns on one device buffer. Without either of the waits, the
// writer overwrites bytes that the reader has not read yet, or the reader reads
// half-written bytes.
TEST_P(DeviceConformance, EventsOrderStreamsThatShareABuffer) {
  constexpr int64_t kBytes = 64_KiB;
  constexpr int kRounds = 60;
  const auto memory = Allocate(MemorySpace::kDevice, kBytes);
  const auto source = Allocate(MemorySpace::kHost, kRounds * kBytes);
  const auto result = Allocate(MemorySpace::kHost, kRounds * kBytes);
  const auto writer = NewStream();
  const auto reader = NewStream();
  std::vector<std::unique_ptr<Event>> written;
  std::vector<std::unique_ptr<Event>> taken;
  for (int i = 0; i < kRounds; ++i) {
    std::memset(source->data() + i * kBytes, i + 1, kBytes);
    written.push_back(NewEvent());
    taken.push_back(NewEvent());
  }
  for (int i = 0; i < kRounds; ++i) {
    if (i > 0) {
      EXPECT_THAT(writer->Wait(taken[i - 1].get()), IsOk());
    }
    EXPECT_THAT(writer->CopyToDevice(memory->data(),
                                     source->data() + i * kBytes, kBytes),
                IsOk());
    EXPECT_THAT(writer->Record(written[i].get()), IsOk());
    EXPECT_THAT(reader->Wait(written[i].get()), IsOk());
    EXPECT_THAT(
        reader->CopyToHost(result->data() + i * kBytes, memory->data(), kBytes),
        IsOk());
    EXPECT_THAT(reader->Record(taken[i].get()), IsOk());
  }
  EXPECT_THAT(writer->Synchronize(), IsOk());
  EXPECT_THAT(reader->Synchronize(), IsOk());
  EXPECT_EQ(std::memcmp(result->data(), source->data(), kRounds * kBytes), 0);
}

// Copies on one stream, tasks on the host on another, as in a step with nodes
// on the host.
TEST_P(DeviceConformance, TasksOnTheHostRunInStreamOrder) {
  constexpr int64_t kBytes = 16_KiB;
  constexpr int kRounds = 40;
  const auto memory = Allocate(MemorySpace::kDevice, kBytes);
  const auto host = Allocate(MemorySpace::kHost, kBytes);
  const auto copies = NewStream();
  const auto tasks = NewStream();
  std::memset(host->data(), 0, static_cast<size_t>(kBytes));
  AddingTask add(*host);
  const auto copied = NewEvent();
  const auto added = NewEvent();
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_THAT(tasks->SubmitOnHost(&add), IsOk());
    EXPECT_THAT(tasks->Record(added.get()), IsOk());
    EXPECT_THAT(copies->Wait(added.get()), IsOk());
    EXPECT_THAT(copies->CopyToDevice(memory->data(), host->data(), kBytes),
                IsOk());
    EXPECT_THAT(copies->CopyToHost(host->data(), memory->data(), kBytes),
                IsOk());
    EXPECT_THAT(copies->Record(copied.get()), IsOk());
    EXPECT_THAT(tasks->Wait(copied.get()), IsOk());
  }
  EXPECT_THAT(tasks->Synchronize(), IsOk());
  EXPECT_THAT(copies->Synchronize(), IsOk());
  EXPECT_EQ(std::vector(host->data(), host->data() + kBytes),
            Bytes(kBytes, kRounds));
}

TEST_P(DeviceConformance, AnErrorOnTheHostSkipsLaterTasksAndIsReportedOnce) {
  const auto stream = NewStream();
  FailingTask failing(absl::InternalError("first"));
  FailingTask second(absl::InternalError("second"));
  CountingTask counting;
  EXPECT_THAT(stream->SubmitOnHost(&failing), IsOk());
  EXPECT_THAT(stream->SubmitOnHost(&counting), IsOk());
  EXPECT_THAT(stream->SubmitOnHost(&second), IsOk());
  EXPECT_THAT(stream->Synchronize(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("first")));
  EXPECT_EQ(counting.runs, 0);
  EXPECT_THAT(stream->SubmitOnHost(&counting), IsOk());
  EXPECT_THAT(stream->Synchronize(), IsOk());
  EXPECT_EQ(counting.runs, 1);
}

// As in steps: the same two events are recorded again in every round.
TEST_P(DeviceConformance, EventsCanBeRecordedAgainAfterASynchronisation) {
  constexpr int64_t kBytes = 16_KiB;
  const auto memory = Allocate(MemorySpace::kDevice, kBytes);
  const auto writer = NewStream();
  const auto reader = NewStream();
  const auto written = NewEvent();
  const auto taken = NewEvent();
  for (int i = 0; i < 100; ++i) {
    const std::vector<std::byte> first = Bytes(kBytes, i);
    const std::vector<std::byte> second = Bytes(kBytes, i + 100);
    std::vector<std::byte> result(kBytes);
    EXPECT_THAT(writer->CopyToDevice(memory->data(), first.data(), kBytes),
                IsOk());
    EXPECT_THAT(writer->Record(written.get()), IsOk());
    EXPECT_THAT(reader->Wait(written.get()), IsOk());
    EXPECT_THAT(reader->CopyToHost(result.data(), memory->data(), kBytes),
                IsOk());
    EXPECT_THAT(reader->Record(taken.get()), IsOk());
    EXPECT_THAT(writer->Wait(taken.get()), IsOk());
    EXPECT_THAT(writer->CopyToDevice(memory->data(), second.data(), kBytes),
                IsOk());
    EXPECT_THAT(writer->Synchronize(), IsOk());
    EXPECT_THAT(reader->Synchronize(), IsOk());
    EXPECT_EQ(result, first);
  }
}

TEST_P(DeviceConformance, AnEventThatWasNeverRecordedDoesNotBlock) {
  const auto stream = NewStream();
  const auto event = NewEvent();
  EXPECT_THAT(stream->Wait(event.get()), IsOk());
  EXPECT_THAT(stream->Synchronize(), IsOk());
}

// A wait is for the earlier marks: a mark that is recorded later, behind the
// waiting work, is not waited for.
TEST_P(DeviceConformance, AWaitIsForTheLastMarkBeforeIt) {
  const auto stream = NewStream();
  const auto event = NewEvent();
  EXPECT_THAT(stream->Record(event.get()), IsOk());
  EXPECT_THAT(stream->Wait(event.get()), IsOk());
  EXPECT_THAT(stream->Record(event.get()), IsOk());
  EXPECT_THAT(stream->Synchronize(), IsOk());
}

TEST_P(DeviceConformance, MarksOfOneStreamHaveAscendingTimes) {
  const auto stream = NewStream();
  std::vector<std::unique_ptr<Event>> events;
  for (int i = 0; i < 20; ++i) {
    events.push_back(NewEvent(/*timing=*/true));
    EXPECT_THAT(stream->Record(events.back().get()), IsOk());
  }
  EXPECT_THAT(stream->Synchronize(), IsOk());
  for (size_t i = 1; i < events.size(); ++i) {
    EXPECT_LE(events[i - 1]->TimeNs(), events[i]->TimeNs());
  }
}

TEST_P(DeviceConformance, TheFirstErrorIsKeptAndReportedOnce) {
  const auto stream = NewStream();
  FailingTask first(absl::InternalError("first failure"));
  FailingTask second(absl::UnavailableError("second failure"));
  EXPECT_THAT(stream->Submit(&first), IsOk());
  EXPECT_THAT(stream->Submit(&second), IsOk());
  EXPECT_THAT(stream->Synchronize(),
              StatusIs(absl::StatusCode::kInternal, "first failure"));
  EXPECT_THAT(stream->Synchronize(), IsOk());
}

TEST_P(DeviceConformance, WorkAfterAnErrorIsSkippedUntilItWasReported) {
  constexpr int64_t kBytes = 4_KiB;
  const auto memory = Allocate(MemorySpace::kDevice, kBytes);
  const std::vector<std::byte> old_bytes = Bytes(kBytes, 1);
  const std::vector<std::byte> new_bytes = Bytes(kBytes, 2);
  std::vector<std::byte> result(kBytes);
  const auto stream = NewStream();
  EXPECT_THAT(stream->CopyToDevice(memory->data(), old_bytes.data(), kBytes),
              IsOk());
  EXPECT_THAT(stream->Synchronize(), IsOk());

  FailingTask failing(absl::InternalError("planted"));
  CountingTask counting;
  EXPECT_THAT(stream->Submit(&failing), IsOk());
  EXPECT_THAT(stream->Submit(&counting), IsOk());
  EXPECT_THAT(stream->CopyToDevice(memory->data(), new_bytes.data(), kBytes),
              IsOk());
  EXPECT_THAT(stream->CopyToHost(result.data(), new_bytes.data(), kBytes),
              IsOk());
  EXPECT_THAT(stream->Synchronize(), StatusIs(absl::StatusCode::kInternal, _));
  EXPECT_EQ(counting.runs, 0);
  EXPECT_THAT(result, Each(std::byte{0}));

  EXPECT_THAT(stream->Submit(&counting), IsOk());
  EXPECT_THAT(stream->CopyToHost(result.data(), memory->data(), kBytes),
              IsOk());
  EXPECT_THAT(stream->Synchronize(), IsOk());
  EXPECT_EQ(counting.runs, 1);
  EXPECT_EQ(result, old_bytes);
}

TEST_P(DeviceConformance, AnErrorDoesNotStopStreamsThatWaitForTheFailedOne) {
  const auto failed = NewStream();
  const auto waiting = NewStream();
  const auto event = NewEvent();
  FailingTask failing(absl::InternalError("planted"));
  CountingTask counting;
  EXPECT_THAT(failed->Submit(&failing), IsOk());
  EXPECT_THAT(failed->Record(event.get()), IsOk());
  EXPECT_THAT(waiting->Wait(event.get()), IsOk());
  EXPECT_THAT(waiting->Submit(&counting), IsOk());
  EXPECT_THAT(waiting->Synchronize(), IsOk());
  EXPECT_EQ(counting.runs, 1);
  EXPECT_THAT(failed->Synchronize(), StatusIs(absl::StatusCode::kInternal, _));
}

// A failed stream still waits before it passes a mark: a stream that waits for
// this mark relies on all earlier work, in other streams too.
TEST_P(DeviceConformance, AFailedStreamStillWaitsBeforeItPassesAMark) {
  constexpr int64_t kBytes = 1_MiB;
  Open({.threads = 1, .link_gigabytes_per_second = 1});
  const auto memory = Allocate(MemorySpace::kDevice, kBytes);
  const std::vector<std::byte> earlier = Bytes(kBytes, 6);
  const std::vector<std::byte> last = Bytes(kBytes, 7);
  std::vector<std::byte> result(kBytes);
  const auto writer = NewStream();
  const auto failed = NewStream();
  const auto reader = NewStream();
  const auto written = NewEvent();
  const auto passed_on = NewEvent();
  FailingTask failing(absl::InternalError("planted"));
  EXPECT_THAT(failed->Submit(&failing), IsOk());
  for (int i = 0; i < 10; ++i) {  // Keeps the writer busy for a while.
    EXPECT_THAT(writer->CopyToDevice(memory->data(), earlier.data(), kBytes),
                IsOk());
  }
  EXPECT_THAT(writer->CopyToDevice(memory->data(), last.data(), kBytes),
              IsOk());
  EXPECT_THAT(writer->Record(written.get()), IsOk());
  EXPECT_THAT(failed->Wait(written.get()), IsOk());
  EXPECT_THAT(failed->Record(passed_on.get()), IsOk());
  EXPECT_THAT(reader->Wait(passed_on.get()), IsOk());
  EXPECT_THAT(reader->CopyToHost(result.data(), memory->data(), kBytes),
              IsOk());
  EXPECT_THAT(reader->Synchronize(), IsOk());
  EXPECT_THAT(writer->Synchronize(), IsOk());
  EXPECT_THAT(failed->Synchronize(), StatusIs(absl::StatusCode::kInternal, _));
  EXPECT_EQ(result, last);
}

// More commands than any queue holds, between streams that wait for each other.
TEST_P(DeviceConformance, LongQueuesOfStreamsThatWaitForEachOtherFinish) {
  constexpr int kRounds = 3000;
  const auto a = NewStream();
  const auto b = NewStream();
  const auto from_a = NewEvent();
  const auto from_b = NewEvent();
  CountingTask counting;  // on both streams: the events separate its runs
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_THAT(a->Submit(&counting), IsOk());
    EXPECT_THAT(a->Record(from_a.get()), IsOk());
    EXPECT_THAT(b->Wait(from_a.get()), IsOk());
    EXPECT_THAT(b->Submit(&counting), IsOk());
    EXPECT_THAT(b->Record(from_b.get()), IsOk());
    EXPECT_THAT(a->Wait(from_b.get()), IsOk());
  }
  EXPECT_THAT(a->Synchronize(), IsOk());
  EXPECT_THAT(b->Synchronize(), IsOk());
  EXPECT_EQ(counting.runs, 2 * kRounds);
}

TEST_P(DeviceConformance, MemoryIsAlignedAndOfTheSizeAskedFor) {
  for (const MemorySpace space : {MemorySpace::kDevice, MemorySpace::kHost}) {
    for (const int64_t bytes : {int64_t{1}, int64_t{1000}, 3_MiB + 1}) {
      const auto memory = Allocate(space, bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % 256, 0u);
      EXPECT_EQ(memory->num_bytes(), bytes);
    }
  }
}

TEST_P(DeviceConformance, CapacityIsAWallForDeviceMemoryAlone) {
  Open({.threads = 1, .capacity_bytes = 1_MiB});
  EXPECT_EQ(device_->FreeBytes().value(), 1_MiB);
  auto half = Allocate(MemorySpace::kDevice, 512_KiB);
  EXPECT_EQ(device_->FreeBytes().value(), 512_KiB);
  EXPECT_THAT(
      device_->Allocate(MemorySpace::kDevice, 512_KiB + 1),
      StatusIs(absl::StatusCode::kResourceExhausted,
               AllOf(HasSubstr("524289 bytes"), HasSubstr("524288 bytes"))));
  EXPECT_THAT(device_->Allocate(MemorySpace::kHost, 4_MiB), IsOk());
  EXPECT_THAT(device_->Allocate(MemorySpace::kDevice, 512_KiB), IsOk());
  half = nullptr;
  EXPECT_EQ(device_->FreeBytes().value(), 1_MiB);
  EXPECT_THAT(device_->Allocate(MemorySpace::kDevice, 1_MiB), IsOk());
}

TEST_P(DeviceConformance, MoreThanTheMachineHasIsRefused) {
  constexpr int64_t kPebibyte = int64_t{1} << 50;
  for (const MemorySpace space : {MemorySpace::kDevice, MemorySpace::kHost}) {
    EXPECT_THAT(device_->Allocate(space, kPebibyte),
                StatusIs(absl::StatusCode::kResourceExhausted, _));
  }
  EXPECT_GT(device_->FreeBytes().value(), 0);
  EXPECT_LT(device_->FreeBytes().value(), kPebibyte);
}

TEST_P(DeviceConformance, OnlyAllocateCallsAreCounted) {
  EXPECT_EQ(device_->allocations(), 0);
  const auto memory = Allocate(MemorySpace::kDevice, 4_KiB);
  const auto host = Allocate(MemorySpace::kHost, 4_KiB);
  EXPECT_EQ(device_->allocations(), 2);
  const auto stream = NewStream();
  const auto event = NewEvent();
  EXPECT_THAT(stream->CopyToDevice(memory->data(), host->data(), 4_KiB),
              IsOk());
  EXPECT_THAT(stream->Record(event.get()), IsOk());
  EXPECT_THAT(stream->Synchronize(), IsOk());
  EXPECT_EQ(device_->allocations(), 2);
}

INSTANTIATE_TEST_SUITE_P(AllDevices, DeviceConformance,
                         ::testing::Values("inline", "cpu", "cuda",
                                           "fake_cuda"));

}  // namespace
}  // namespace spillway
