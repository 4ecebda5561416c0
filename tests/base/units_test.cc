#include "base/units.h"

#include <limits>

#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::StatusIs;
using ::testing::HasSubstr;

TEST(UnitsTest, LiteralsArePowersOf1024) {
  EXPECT_EQ(3_KiB, 3 * 1024);
  EXPECT_EQ(2_MiB, 2 * 1024 * 1024);
  EXPECT_EQ(5_GiB, 5368709120);
}

TEST(UnitsTest, AlignUpReachesTheNextMultiple) {
  EXPECT_EQ(AlignUp(0, 256), 0);
  EXPECT_EQ(AlignUp(1, 256), 256);
  EXPECT_EQ(AlignUp(256, 256), 256);
  EXPECT_EQ(AlignUp(257, 256), 512);
}

TEST(UnitsTest, BytesHaveThreeSignificantDigits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(512), "512 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(26528973), "25.3 MiB");
  EXPECT_EQ(FormatBytes(1299227607), "1.21 GiB");
  EXPECT_EQ(FormatBytes(-1536), "-1.5 KiB");
  EXPECT_EQ(FormatBytes(std::numeric_limits<int64_t>::max()), "8388608 TiB");
}

TEST(UnitsTest, BytesThatRoundUpToTheNextUnitAreWrittenInIt) {
  EXPECT_EQ(FormatBytes(1_MiB - 600), "1023 KiB");
  EXPECT_EQ(FormatBytes(1_MiB - 1), "1 MiB");
}

TEST(UnitsTest, DurationsPickTheirUnit) {
  EXPECT_EQ(FormatDuration(0), "0 ns");
  EXPECT_EQ(FormatDuration(420), "420 ns");
  EXPECT_EQ(FormatDuration(13240), "13.2 us");
  EXPECT_EQ(FormatDuration(25'300'000), "25.3 ms");
  EXPECT_EQ(FormatDuration(999'999), "1 ms");
  EXPECT_EQ(FormatDuration(1'210'000'000), "1.21 s");
  EXPECT_EQ(FormatDuration(119'400'000'000), "119 s");
  EXPECT_EQ(FormatDuration(120'000'000'000), "2 min 0 s");
  EXPECT_EQ(FormatDuration(7'199'000'000'000), "119 min 59 s");
  EXPECT_EQ(FormatDuration(7'500'000'000'000), "2 h 5 min");
}

struct SizeCase {
  std::string_view text;
  int64_t bytes = 0;
};

TEST(UnitsTest, ParsesSizesInAnyCase) {
  const SizeCase cases[] = {
      {"0", 0},
      {"4096", 4096},
      {"17B", 17},
      {"512MiB", 512_MiB},
      {"16GiB", 16_GiB},
      {"16gib", 16_GiB},
      {"64 KiB", 64_KiB},
      {"1.5GB", 1'500'000'000},
      {"1.5KiB", 1536},
      {".5TiB", 512_GiB},
      {"2kb", 2000},
      {"3 MB", 3'000'000},
      {"1TB", 1'000'000'000'000},
      {"2G", 2_GiB},
      {"2.5g", 2'684'354'560},
      {"3 K", 3_KiB},
      {"1M", 1_MiB},
      {"1T", 1024_GiB},
      {"9007199254740993", 9007199254740993},  // 2^53 + 1
      {"4611686018427387904", int64_t{1} << 62},
      {"4194304TiB", int64_t{1} << 62},
  };
  for (const SizeCase& size : cases) {
    ASSERT_OK_AND_ASSIGN(const int64_t bytes, ParseBytes(size.text));
    EXPECT_EQ(bytes, size.bytes) << size.text;
  }
}

TEST(UnitsTest, RefusesWhatIsNotASize) {
  for (const std::string_view text :
       {"", " ", "MiB", "12 parsecs", "-5", "-5MiB", "1.2.3", "1e9", "0x10",
        "nan", "inf", "4096 ", " 4096", "1,5GB", "5MiBs", "."}) {
    EXPECT_THAT(ParseBytes(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("is not a size; write 512MiB")))
        << text;
  }
}

TEST(UnitsTest, RefusesSizesAboveTwoToThe62) {
  const std::string many_digits(5000, '9');
  for (const std::string_view text :
       {std::string_view("4611686018427387905"), std::string_view("5000000TiB"),
        std::string_view(many_digits)}) {
    EXPECT_THAT(ParseBytes(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("more than 2^62 bytes")))
        << text;
  }
}

}  // namespace
}  // namespace spillway
