#include "training/data/gzip.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/training/data/make_gzip.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::MakeGzip;
using testing::StatusIs;

constexpr int64_t kLimit = 1 << 24;

// Text that compresses to about half.
std::string Text(size_t size) {
  std::string text(size, '\0');
  uint32_t state = 1;
  for (char& c : text) {
    state = state * 1664525u + 1013904223u;
    c = static_cast<char>('a' + (state >> 28));
  }
  return text;
}

TEST(GzipTest, UnpacksWhatZlibPacked) {
  for (const size_t size : {0, 1, 1000, 262'144, 3'000'000}) {
    const std::string text = Text(size);
    ASSERT_OK_AND_ASSIGN(const std::string unpacked,
                         Gunzip(MakeGzip(text), "a.gz", kLimit));
    EXPECT_TRUE(unpacked == text) << size;
  }
}

TEST(GzipTest, UnpacksSeveralMembersOneAfterTheOther) {
  ASSERT_OK_AND_ASSIGN(
      const std::string unpacked,
      Gunzip(MakeGzip("spill") + MakeGzip("way"), "a.gz", kLimit));
  EXPECT_EQ(unpacked, "spillway");
}

TEST(GzipTest, KnowsItsMagicNumber) {
  EXPECT_TRUE(IsGzip(MakeGzip("x")));
  EXPECT_FALSE(IsGzip(""));
  EXPECT_FALSE(IsGzip("\x1f"));
  EXPECT_FALSE(IsGzip(std::string("\0\0\x08\x03", 4)));
}

TEST(GzipTest, RefusesEveryTruncation) {
  const std::string packed = MakeGzip("a short text");
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_THAT(Gunzip(packed.substr(0, size), "a.gz", kLimit),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("a.gz: at byte ")))
        << size;
  }
}

TEST(GzipTest, RefusesDamage) {
  std::string packed = MakeGzip(Text(1000));
  packed[packed.size() - 6] ^= 1;  // the checksum
  EXPECT_THAT(Gunzip(packed, "a.gz", kLimit),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("incorrect data check")));
}

TEST(GzipTest, RefusesBytesAfterTheLastMember) {
  EXPECT_THAT(Gunzip(MakeGzip("x") + "garbage", "a.gz", kLimit),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("incorrect header check")));
}

TEST(GzipTest, StopsAtTheLimit) {
  const std::string bomb = MakeGzip(std::string(10'000'000, '\0'));
  EXPECT_LT(bomb.size(), 20'000u);
  EXPECT_THAT(Gunzip(bomb, "bomb.gz", 1'000'000),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 1000000 bytes")));
  EXPECT_THAT(Gunzip(bomb, "bomb.gz", 10'000'000), testing::IsOk());
}

}  // namespace
}  // namespace spillway
