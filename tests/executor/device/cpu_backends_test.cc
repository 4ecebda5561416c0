// The contract of only the backends that emulate a device on the CPU: paced
// links and the number of OpenMP threads.
#include <omp.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "executor/device/device.h"
#include "executor/device/registry.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::IsOk;

class CpuBackends : public ::testing::TestWithParam<std::string> {};

int64_t ElapsedNs(std::chrono::steady_clock::time_point since) {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - since)
      .count();
}

// At 0.25 GB/s a byte takes 4 ns. Sizes below, at and above the chunk size.
TEST_P(CpuBackends, APacedCopyTakesAtLeastItsBytesOverTheRate) {
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<Device> device,
      NewDevice(GetParam(), {.threads = 1, .link_gigabytes_per_second = 0.25}));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream,
                       device->NewStream({}));
  for (const int64_t bytes : {100_KiB, 1_MiB, 2_MiB + 999}) {
    std::vector<char> from(static_cast<size_t>(bytes), 'x');
    std::vector<char> to(static_cast<size_t>(bytes), ' ');
    auto begin = std::chrono::steady_clock::now();
    EXPECT_THAT(stream->CopyToHost(to.data(), from.data(), bytes), IsOk());
    EXPECT_THAT(stream->Synchronize(), IsOk());
    EXPECT_GE(ElapsedNs(begin), 4 * bytes);
    EXPECT_EQ(to, from);

    std::memset(from.data(), 'y', from.size());
    begin = std::chrono::steady_clock::now();
    EXPECT_THAT(stream->CopyToDevice(to.data(), from.data(), bytes), IsOk());
    EXPECT_THAT(stream->Synchronize(), IsOk());
    EXPECT_GE(ElapsedNs(begin), 4 * bytes);
    EXPECT_EQ(to, from);
  }
}

TEST_P(CpuBackends, StreamsShareTheLinkOfADirection) {
  constexpr int64_t kBytes = 2_MiB;
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<Device> device,
      NewDevice(GetParam(), {.threads = 1, .link_gigabytes_per_second = 0.25}));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> a, device->NewStream({}));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> b, device->NewStream({}));
  const std::vector<char> from(static_cast<size_t>(kBytes), 'x');
  std::vector<char> to(static_cast<size_t>(2 * kBytes));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(a->CopyToHost(to.data(), from.data(), kBytes), IsOk());
  EXPECT_THAT(b->CopyToHost(to.data() + kBytes, from.data(), kBytes), IsOk());
  EXPECT_THAT(a->Synchronize(), IsOk());
  EXPECT_THAT(b->Synchronize(), IsOk());
  EXPECT_GE(ElapsedNs(begin), 4 * 2 * kBytes);
}

class AskThreads final : public StreamTask {
 public:
  absl::Status Run(void*) override {
    threads = omp_get_max_threads();
    return absl::OkStatus();
  }
  int threads = 0;
};

TEST_P(CpuBackends, TasksRunWithTheDevicesThreads) {
  const int before = omp_get_max_threads();
  for (const int threads : {1, 3}) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Device> device,
                         NewDevice(GetParam(), {.threads = threads}));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Stream> stream,
                         device->NewStream({}));
    AskThreads task;
    EXPECT_THAT(stream->Submit(&task), IsOk());
    EXPECT_THAT(stream->Synchronize(), IsOk());
    EXPECT_EQ(task.threads, threads);
    EXPECT_EQ(omp_get_max_threads(), before);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, CpuBackends, ::testing::Values("inline", "cpu"));

}  // namespace
}  // namespace spillway
