#include "training/data/read_samples.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <new>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/training/data/counting_dataset.h"

namespace spillway {
namespace {

using testing::CountingDataset;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

// Calls `before` with the index before each sample. Asks for 3 threads.
class WatchedDataset : public CountingDataset {
 public:
  WatchedDataset(int64_t size,
                 std::function<absl::Status(int64_t, int64_t)> before)
      : CountingDataset(size), before_(std::move(before)) {}

  absl::Status ReadInEpoch(int64_t epoch, int64_t index,
                           std::span<std::byte* const> buffers) const override {
    SPILLWAY_RETURN_IF_ERROR(before_(epoch, index));
    return Read(index, buffers);
  }
  int reader_threads() const override { return 3; }

 private:
  std::function<absl::Status(int64_t epoch, int64_t index)> before_;
};

std::vector<int64_t> IndicesTo(int64_t size) {
  std::vector<int64_t> indices(static_cast<size_t>(size));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  return indices;
}

// Room for samples of a CountingDataset.
struct SampleBuffers {
  explicit SampleBuffers(size_t samples)
      : values(2 * samples, -1), labels(samples, -1) {}
  std::vector<std::byte*> pointers() {
    return {reinterpret_cast<std::byte*>(values.data()),
            reinterpret_cast<std::byte*>(labels.data())};
  }

  std::vector<float> values;
  std::vector<int32_t> labels;
};

TEST(ReadSamplesTest, WritesEachSampleToItsPlace) {
  const CountingDataset data(100);
  const std::vector<int64_t> indices = {7, 99, 0, 7, 42};
  for (const int threads : {0, 1, 2, 5, 64}) {
    SampleBuffers buffers(indices.size());
    ASSERT_THAT(
        ReadSamples(data, indices, buffers.pointers(), {.threads = threads}),
        IsOk());
    EXPECT_THAT(buffers.labels, ::testing::ElementsAre(70, 990, 0, 70, 420));
    EXPECT_THAT(buffers.values, ::testing::ElementsAre(7, 7.5, 99, 99.5, 0, 0.5,
                                                       7, 7.5, 42, 42.5));
  }
}

TEST(ReadSamplesTest, NoSampleIsNothingToDo) {
  const CountingDataset data(3);
  SampleBuffers buffers(1);
  EXPECT_THAT(ReadSamples(data, {}, buffers.pointers(), {.threads = 4}),
              IsOk());
  EXPECT_EQ(buffers.labels[0], -1);
}

TEST(ReadSamplesTest, ReadsManySamplesOnManyThreads) {
  const CountingDataset data(5000);
  const std::vector<int64_t> indices = IndicesTo(5000);
  SampleBuffers buffers(indices.size());
  ASSERT_THAT(ReadSamples(data, indices, buffers.pointers(), {.threads = 8}),
              IsOk());
  for (size_t i = 0; i < indices.size(); ++i) {
    ASSERT_EQ(buffers.labels[i], static_cast<int32_t>(10 * i));
  }
}

// The threads wait for each other, so fewer would never end.
TEST(ReadSamplesTest, UsesAsManyThreadsAsAskedFor) {
  for (const int threads : {0, 3}) {
    std::atomic<int> waiting = 0;
    const WatchedDataset data(3, [&](int64_t, int64_t) {
      ++waiting;
      while (waiting < 3) std::this_thread::yield();
      return absl::OkStatus();
    });
    SampleBuffers buffers(3);
    EXPECT_THAT(ReadSamples(data, IndicesTo(3), buffers.pointers(),
                            {.threads = threads}),
                IsOk());
  }
}

TEST(ReadSamplesTest, OneThreadIsTheCallers) {
  const std::thread::id caller = std::this_thread::get_id();
  const WatchedDataset data(9, [&](int64_t, int64_t) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return absl::OkStatus();
  });
  SampleBuffers buffers(9);
  EXPECT_THAT(
      ReadSamples(data, IndicesTo(9), buffers.pointers(), {.threads = 1}),
      IsOk());
}

TEST(ReadSamplesTest, PassesTheEpochOn) {
  const WatchedDataset data(4, [&](int64_t epoch, int64_t) {
    EXPECT_EQ(epoch, 6);
    return absl::OkStatus();
  });
  SampleBuffers buffers(4);
  EXPECT_THAT(ReadSamples(data, IndicesTo(4), buffers.pointers(), {.epoch = 6}),
              IsOk());
}

// Later samples fail at once, earlier ones only after them.
TEST(ReadSamplesTest, TheLowestOfSeveralErrorsIsReported) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> failures = 0;
    const WatchedDataset data(100, [&](int64_t, int64_t index) {
      if (index == 10) {
        while (failures == 0) std::this_thread::yield();
      }
      if (index < 10 || index % 2 == 1) return absl::OkStatus();
      ++failures;
      return Internal(fmt::format("bad {}", index));
    });
    SampleBuffers buffers(100);
    EXPECT_THAT(
        ReadSamples(data, IndicesTo(100), buffers.pointers(), {.threads = 4}),
        StatusIs(absl::StatusCode::kInternal, "sample 10: bad 10"));
  }
}

TEST(ReadSamplesTest, StopsAfterAnError) {
  std::atomic<int> num_reads = 0;
  const WatchedDataset data(100'000, [&](int64_t, int64_t index) {
    ++num_reads;
    return index == 0 ? Internal("bad") : absl::OkStatus();
  });
  SampleBuffers buffers(100'000);
  EXPECT_THAT(
      ReadSamples(data, IndicesTo(100'000), buffers.pointers(), {.threads = 1}),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("bad")));
  EXPECT_EQ(num_reads, 1);
}

TEST(ReadSamplesTest, WhatAReadThrowsOnAnyThreadIsAnError) {
  for (const int threads : {1, 4}) {
    const WatchedDataset out_of_range(8, [](int64_t, int64_t index) {
      if (index >= 3) throw std::out_of_range("vector::at");
      return absl::OkStatus();
    });
    SampleBuffers buffers(8);
    EXPECT_THAT(ReadSamples(out_of_range, IndicesTo(8), buffers.pointers(),
                            {.threads = threads}),
                StatusIs(absl::StatusCode::kInternal,
                         "reading sample 3 of the data threw: vector::at"));
    const WatchedDataset bad_alloc(
        8, [](int64_t, int64_t) -> absl::Status { throw std::bad_alloc(); });
    EXPECT_THAT(ReadSamples(bad_alloc, IndicesTo(8), buffers.pointers(),
                            {.threads = threads}),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         HasSubstr("sample 0 of the data does not fit")));
    const WatchedDataset number(
        8, [](int64_t, int64_t) -> absl::Status { throw 42; });
    EXPECT_THAT(ReadSamples(number, IndicesTo(8), buffers.pointers(),
                            {.threads = threads}),
                StatusIs(absl::StatusCode::kInternal,
                         "reading sample 0 of the data threw"));
  }
}

}  // namespace
}  // namespace spillway
