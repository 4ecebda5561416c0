#include "tuner/profile/measure_link.h"

#include "executor/device/registry.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

// A paced copy takes at least its bytes divided by the rate, on any machine.
// How much longer it takes, a test cannot know.
TEST(MeasureLinkTest, NoCopyIsFasterThanThePaceOfTheLink) {
  for (const char* name : {"cpu", "inline"}) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const auto device,
                         NewDevice(name, {.link_gigabytes_per_second = 4}));
    ASSERT_OK_AND_ASSIGN(const MeasuredLink link, MeasureLink(*device));
    for (const LinkDirection* direction : {&link.to_host, &link.to_device}) {
      ASSERT_FALSE(direction->by_size.empty());
      int64_t bytes_before = 0;
      for (const CopyTime& time : direction->by_size) {
        EXPECT_GT(time.bytes, bytes_before);
        EXPECT_GE(time.alone_ns, time.bytes / 4);
        EXPECT_GE(time.shared_ns, time.bytes / 4);
        bytes_before = time.bytes;
      }
      EXPECT_LE(direction->bytes_per_second, 4e9);
      EXPECT_LE(direction->shared_bytes_per_second, 4e9);
    }
  }
}

}  // namespace
}  // namespace spillway
