#include "training/data/idx.h"

#include <string>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/training/data/make_gzip.h"
#include "tests/training/data/make_idx.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using testing::BigEndian32;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeGzip;
using testing::MakeIdx;
using testing::StatusIs;

TEST(IdxTest, ReadsDimensionsAndElements) {
  ASSERT_OK_AND_ASSIGN(
      const IdxArray array,
      ParseIdx(MakeIdx({2, 3}, "\x01\x02\x03\x04\x05\xff"), "a.idx"));
  EXPECT_THAT(array.dims, ElementsAre(2, 3));
  EXPECT_THAT(array.values, ElementsAre(1, 2, 3, 4, 5, 255));
}

struct BadIdx {
  std::string what;
  std::string bytes;
  int byte = 0;  // stated in the error
  std::string message;
};

class BadIdxTest : public ::testing::TestWithParam<BadIdx> {};

TEST_P(BadIdxTest, IsRefusedWithItsPlace) {
  const BadIdx& bad = GetParam();
  EXPECT_THAT(ParseIdx(bad.bytes, "a.idx"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("a.idx: at byte " +
                                       std::to_string(bad.byte) + ": "),
                             HasSubstr(bad.message))));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadIdxTest,
    ::testing::Values(
        BadIdx{"Empty", "", 0, "magic number"},
        BadIdx{"HalfAMagicNumber", std::string("\0\0\x08", 3), 3,
               "magic number"},
        BadIdx{"Text", "hello, world", 0, "magic number 0x68656c6c"},
        BadIdx{"Floats", BigEndian32(0x0D01) + BigEndian32(1) + "abcd", 0,
               "magic number 0x00000d01"},
        BadIdx{"LittleEndian", std::string("\x03\x08\0\0", 4), 0,
               "magic number 0x03080000"},
        BadIdx{"RankZero", BigEndian32(0x0800), 0, "magic number"},
        BadIdx{"RankFive", MakeIdx({1, 1, 1, 1, 1}, "x"), 0, "magic number"},
        BadIdx{"HalfADimension", MakeIdx({7, 9}, "").substr(0, 10), 10,
               "ends inside the dimensions"},
        BadIdx{"EmptyDimension", MakeIdx({7, 0, 3}, ""), 8, "a dimension of 0"},
        BadIdx{"ProductBeyondTheLimit", MakeIdx({65'536, 65'536}, ""), 8,
               "a dimension of 65536 makes more than"},
        BadIdx{"ProductBeyond64Bits",
               MakeIdx({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, ""), 4,
               "a dimension of 4294967295 makes more than"},
        BadIdx{"ElementMissing", MakeIdx({2, 3}, "12345"), 17,
               "6 elements promised, 5 there"},
        BadIdx{"AllElementsMissing", MakeIdx({2147483647}, ""), 8,
               "2147483647 elements promised, 0 there"},
        BadIdx{"TrailingGarbage", MakeIdx({2, 3}, "123456ab"), 18,
               "2 bytes left over after 6 elements"}),
    [](const auto& info) { return info.param.what; });

TEST(IdxTest, RefusesEveryTruncation) {
  const std::string bytes = MakeIdx({2, 3}, "123456");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ParseIdx(bytes.substr(0, size), "a.idx").ok()) << size;
  }
}

TEST(IdxTest, ReadsPlainAndPackedFilesAlike) {
  const std::string bytes = MakeIdx({4}, "abcd");
  const std::string plain = ::testing::TempDir() + "/idx_plain";
  const std::string packed = ::testing::TempDir() + "/idx_packed.gz";
  ASSERT_THAT(WriteFileAtomically(plain, bytes), IsOk());
  ASSERT_THAT(WriteFileAtomically(packed, MakeGzip(bytes)), IsOk());
  for (const std::string& path : {plain, packed}) {
    ASSERT_OK_AND_ASSIGN(const IdxArray array, ReadIdxFile(path));
    EXPECT_THAT(array.values, ElementsAre('a', 'b', 'c', 'd'));
  }
}

TEST(IdxTest, SaysThatAnOffsetIsOneOfTheUnpackedBytes) {
  const std::string path = ::testing::TempDir() + "/idx_short.gz";
  ASSERT_THAT(WriteFileAtomically(path, MakeGzip(MakeIdx({4}, "abc"))), IsOk());
  EXPECT_THAT(ReadIdxFile(path),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("idx_short.gz (unpacked): at byte 11: ")));
}

TEST(IdxTest, NamesAMissingFile) {
  EXPECT_THAT(
      ReadIdxFile("/no/such/file"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/file")));
}

}  // namespace
}  // namespace spillway
