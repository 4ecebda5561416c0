#include "simulator/default_profile.h"

#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

TEST(DefaultProfileTest, IsAProfileThatAFileCouldHold) {
  const DeviceProfile profile = DefaultCpuProfile(2);
  ASSERT_OK_AND_ASSIGN(
      const DeviceProfile read,
      ParseDeviceProfile(FormatDeviceProfile(profile), "text"));
  EXPECT_EQ(read, profile);
}

TEST(DefaultProfileTest, CoresAddUp) {
  const DeviceProfile one = DefaultCpuProfile(1);
  const DeviceProfile four = DefaultCpuProfile(4);
  EXPECT_EQ(four.flops_per_second.at(DType::kFloat32),
            4 * one.flops_per_second.at(DType::kFloat32));
  EXPECT_EQ(four.memory_bytes_per_second, 4 * one.memory_bytes_per_second);
  EXPECT_EQ(four.to_host, one.to_host);  // one thread copies
}

}  // namespace
}  // namespace spillway
