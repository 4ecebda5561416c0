#include "executor/device/registry.h"

#include <sched.h>

#include <limits>
#include <thread>

#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

TEST(DeviceRegistry, FindsDevicesByName) {
  ASSERT_OK_AND_ASSIGN(const auto cpu, NewDevice("cpu", {}));
  EXPECT_EQ(cpu->name(), "cpu");
  EXPECT_EQ(cpu->kind(), DeviceKind::kCpu);
  ASSERT_OK_AND_ASSIGN(const auto inline_device, NewDevice("inline", {}));
  EXPECT_EQ(inline_device->name(), "inline");
}

TEST(DeviceRegistry, TheEmptyNamePicksTheCpuWithoutCuda) {
  ASSERT_OK_AND_ASSIGN(const auto device, NewDevice("", {}));
  EXPECT_EQ(device->name(), "cpu");
}

TEST(DeviceRegistry, CudaIsUnavailableAndTheMessageSaysWhatToLinkOrUse) {
  for (const char* name : {"cuda", "cuda:0", "cuda:17"}) {
    EXPECT_THAT(NewDevice(name, {}),
                StatusIs(absl::StatusCode::kUnavailable,
                         AllOf(HasSubstr("link spillway::cuda"),
                               HasSubstr("the device cpu"))));
  }
}

TEST(DeviceRegistry, OtherNamesAreRefusedWithTheListOfNames) {
  for (const char* name : {"gpu", "CPU", "cuda:", "cuda:x", "cudax"}) {
    EXPECT_THAT(NewDevice(name, {}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(name), HasSubstr("inline, cpu"))));
  }
}

TEST(DeviceRegistry, ImpossibleOptionsAreRefused) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(
      NewDevice("cpu", {.threads = -1}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("threads")));
  EXPECT_THAT(
      NewDevice("cpu", {.capacity_bytes = -1}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("capacity")));
  for (const double rate : {-1.0, infinity, infinity - infinity}) {
    EXPECT_THAT(
        NewDevice("inline", {.link_gigabytes_per_second = rate}),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rate")));
  }
}

TEST(ResolveThreads, AutomaticIsTheNumberOfCoresOfThisThread) {
  EXPECT_EQ(ResolveThreads(5), 5);
  std::jthread([] {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(sched_getcpu(), &cores);
    ASSERT_EQ(sched_setaffinity(0, sizeof(cores), &cores), 0);
    EXPECT_EQ(ResolveThreads(0), 1);
  }).join();
}

}  // namespace
}  // namespace spillway
