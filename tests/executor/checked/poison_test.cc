#include "executor/checked/poison.h"

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/bfloat16.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

constexpr std::array kPatterns = {Pattern::kPoison, Pattern::kVirgin,
                                  Pattern::kFence};
// More than the blocks that are compared at once.
constexpr size_t kSize = 10'000;

std::vector<std::byte> Filled(Pattern pattern, size_t size = kSize) {
  std::vector<std::byte> bytes(size);
  FillWith(pattern, bytes);
  return bytes;
}

TEST(PoisonTest, EveryPatternIsANaNOfEveryFloatingType) {
  for (const Pattern pattern : kPatterns) {
    const std::vector<std::byte> bytes = Filled(pattern, 4);
    float wide = 0;
    std::memcpy(&wide, bytes.data(), sizeof(wide));
    EXPECT_TRUE(std::isnan(wide));
    BFloat16 narrow;
    std::memcpy(&narrow, bytes.data(), sizeof(narrow));
    EXPECT_TRUE(std::isnan(ToFloat(narrow)));
    const auto word = static_cast<uint16_t>(pattern);
    EXPECT_EQ(word & 0x7C00, 0x7C00);  // float16: the exponent of a NaN,
    EXPECT_NE(word & 0x03FF, 0);       // and not of an infinity
  }
}

TEST(PoisonTest, PoisonDiffersFromTheOthersInEveryByte) {
  const std::vector<std::byte> poison = Filled(Pattern::kPoison, 2);
  for (const Pattern pattern : {Pattern::kVirgin, Pattern::kFence}) {
    const std::vector<std::byte> other = Filled(pattern, 2);
    EXPECT_NE(poison[0], other[0]);
    EXPECT_NE(poison[1], other[1]);
  }
}

TEST(PoisonTest, AnyPartOfAFilledRangeIsAsFilled) {
  const std::vector<std::byte> bytes = Filled(Pattern::kPoison);
  for (size_t begin = 0; begin < 5; ++begin) {
    for (size_t size :
         {size_t{0}, size_t{1}, size_t{2}, size_t{3}, kSize - 5}) {
      EXPECT_EQ(
          FirstOther(Pattern::kPoison, std::span(bytes).subspan(begin, size)),
          static_cast<int64_t>(size));
    }
  }
}

// Compares with a search byte by byte, for a wrong byte at every position.
TEST(PoisonTest, TheFirstAndLastWrongByteAreFound) {
  std::vector<std::byte> bytes = Filled(Pattern::kVirgin);
  for (size_t at = 0; at < kSize; ++at) {
    const std::byte before = bytes[at];
    bytes[at] = std::byte{0};
    const auto place = static_cast<int64_t>(at);
    ASSERT_EQ(FirstOther(Pattern::kVirgin, bytes), place);
    ASSERT_EQ(EndOfOther(Pattern::kVirgin, bytes), place + 1);
    ASSERT_EQ(FirstUsed(bytes), place);
    bytes[at] = before;
  }
  EXPECT_EQ(FirstOther(Pattern::kVirgin, bytes), int64_t{kSize});
  EXPECT_EQ(EndOfOther(Pattern::kVirgin, bytes), 0);
}

TEST(PoisonTest, PoisonAndVirginBytesMayTakeTurns) {
  std::vector<std::byte> bytes = Filled(Pattern::kVirgin);
  FillWith(Pattern::kPoison, std::span(bytes).subspan(3, 5000));
  FillWith(Pattern::kPoison, std::span(bytes).subspan(6001, 1));
  EXPECT_EQ(FirstUsed(bytes), int64_t{kSize});
  EXPECT_EQ(EndOfOther(Pattern::kVirgin, bytes), 6002);
  bytes[7000] = std::byte{0};
  EXPECT_EQ(FirstUsed(bytes), 7000);
}

}  // namespace
}  // namespace spillway
