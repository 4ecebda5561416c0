#include "executor/device/cpu/copy_bytes.h"

#include <cstdint>
#include <random>
#include <vector>

#include "base/units.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

// Around the size from which copies go past the caches.
TEST(CopyBytesTest, CopiesEachByteAndTouchesNoOther) {
  constexpr size_t kMargin = 128;
  std::mt19937_64 random(1);
  std::vector<uint8_t> from(3_MiB);
  for (uint8_t& byte : from) byte = static_cast<uint8_t>(random());
  for (int i = 0; i < 60; ++i) {
    const size_t bytes =
        i % 3 == 0 ? random() % 300
                   : 1_MiB - 100 + random() % (i % 2 == 0 ? 200 : 1_MiB);
    const size_t from_begin = random() % kMargin;
    const size_t to_begin = kMargin + random() % kMargin;
    SCOPED_TRACE(::testing::Message() << bytes << " bytes from " << from_begin
                                      << " to " << to_begin);
    constexpr uint8_t kUntouched = 0xa5;
    std::vector<uint8_t> to(to_begin + bytes + kMargin, kUntouched);
    std::vector<uint8_t> expected = to;
    for (size_t k = 0; k < bytes; ++k) {
      expected[to_begin + k] = from[from_begin + k];
    }
    CopyBytes(to.data() + to_begin, from.data() + from_begin,
              static_cast<int64_t>(bytes));
    ASSERT_EQ(to, expected);
  }
}

}  // namespace
}  // namespace spillway
