#include "executor/checked/fenced_buffers.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/guarded_buffer.h"

namespace spillway {
namespace {

using testing::GuardedBuffer;

const std::vector<int64_t> kSizes = {4000, 1, 0, 256, 77};

class FencedBuffersTest : public ::testing::Test {
 protected:
  GuardedBuffer region_{FencedBuffers::RegionBytes(kSizes)};
  FencedBuffers fenced_{region_.bytes(), kSizes};
};

TEST_F(FencedBuffersTest, BuffersAreAlignedApartAndInsideTheRegion) {
  const std::byte* end = region_.data();
  for (size_t i = 0; i < kSizes.size(); ++i) {
    const auto buffer = fenced_[i];
    EXPECT_EQ(static_cast<int64_t>(buffer.size()), kSizes[i]);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 256, 0u);
    EXPECT_GE(buffer.data() - end, 128);
    end = buffer.data() + buffer.size();
  }
  EXPECT_GE(region_.data() + region_.bytes().size() - end, 128);
  EXPECT_TRUE(region_.guards_intact());
}

TEST_F(FencedBuffersTest, WritingBuffersWhollyIsNoDamage) {
  for (size_t i = 0; i < kSizes.size(); ++i) {
    std::ranges::fill(fenced_[i], std::byte{0});
  }
  EXPECT_FALSE(fenced_.FindDamage());
}

TEST_F(FencedBuffersTest, AnyByteWithin64OfABufferIsDamageToThatBuffer) {
  for (size_t i = 0; i < kSizes.size(); ++i) {
    for (int64_t distance = 1; distance <= 64; ++distance) {
      for (const int64_t offset : {-distance, kSizes[i] + distance - 1}) {
        std::byte* at = fenced_[i].data() + offset;
        const std::byte before = *at;
        *at = std::byte{0};
        const auto damage = fenced_.FindDamage();
        ASSERT_TRUE(damage.has_value()) << i << " " << offset;
        EXPECT_EQ(damage->buffer, i) << offset;
        EXPECT_EQ(damage->offset, offset) << i;
        *at = before;
      }
    }
  }
}

TEST_F(FencedBuffersTest, TheFirstOfSeveralIsNamed) {
  fenced_[3][255] = std::byte{0};  // no damage
  fenced_[3].data()[256] = std::byte{0};
  fenced_[0].data()[4003] = std::byte{0};
  const auto damage = fenced_.FindDamage();
  ASSERT_TRUE(damage.has_value());
  EXPECT_EQ(damage->buffer, 0u);
  EXPECT_EQ(damage->offset, 4003);
}

TEST(FencedBuffers, NoBuffersNeedNoRegion) {
  EXPECT_EQ(FencedBuffers::RegionBytes({}), 0);
  EXPECT_FALSE(FencedBuffers({}, {}).FindDamage());
}

}  // namespace
}  // namespace spillway
