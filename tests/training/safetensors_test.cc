#include "training/safetensors.h"

#include <cstring>
#include <string>

#include "base/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

HostTensor MakeTensor(DType dtype, const Shape& shape, std::string_view bytes) {
  HostTensor tensor = {.type = {.dtype = dtype, .shape = shape}, .bytes = {}};
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  tensor.bytes.assign(data, data + bytes.size());
  return tensor;
}

std::string_view BytesOf(const HostTensor& tensor) {
  return {tensor.data<char>(), tensor.bytes.size()};
}

// A file with this header and data, valid or not.
std::string MakeFile(std::string_view header, std::string_view data = "") {
  const uint64_t size = header.size();
  std::string bytes(sizeof(size), '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  return bytes.append(header).append(data);
}

std::string TempPath(const std::string& name) {
  return ::testing::TempDir() + "/" + name;
}

TEST(SafetensorsTest, ReadsAFileMadeByHand) {
  const std::string file =
      MakeFile(R"({"__metadata__":{"format":"pt"},)"
               R"("b":{"dtype":"U8","shape":[],"data_offsets":[8,9]},)"
               R"("a":{"dtype":"I32","shape":[2,1],"data_offsets":[0,8]}} )",
               "abcdefghi");
  ASSERT_OK_AND_ASSIGN(const TensorMap tensors, ParseSafetensors(file, "f"));
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors.at("a").type,
            (TensorType{.dtype = DType::kInt32, .shape = {2, 1}}));
  EXPECT_EQ(BytesOf(tensors.at("a")), "abcdefgh");
  EXPECT_EQ(BytesOf(tensors.at("b")), "i");
}

TensorMap EveryDType() {
  return {{"a_bool", MakeTensor(DType::kBool, {3}, std::string("\0\1\1", 3))},
          {"a_byte", MakeTensor(DType::kUInt8, {1, 1}, "x")},
          {"bf16", MakeTensor(DType::kBFloat16, {3}, "abcdef")},
          {"f16", MakeTensor(DType::kFloat16, {1}, "gh")},
          {"f32", MakeTensor(DType::kFloat32, Shape(), "ijkl")},
          {"i32", MakeTensor(DType::kInt32, {1, 2}, "mnopqrst")},
          {"i64", MakeTensor(DType::kInt64, {1}, "01234567")}};
}

TEST(SafetensorsTest, ReadsBackWhatItWrote) {
  const std::string path = TempPath("every_dtype.safetensors");
  const TensorMap tensors = EveryDType();
  ASSERT_THAT(WriteSafetensors(path, tensors), IsOk());
  ASSERT_OK_AND_ASSIGN(const TensorMap read, ReadSafetensors(path));
  ASSERT_EQ(read.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(read.at(name).type, tensor.type) << name;
    EXPECT_EQ(BytesOf(read.at(name)), BytesOf(tensor)) << name;
  }
}

TEST(SafetensorsTest, WritesTheWidestElementsFirstBehindAnAlignedHeader) {
  const std::string path = TempPath("layout.safetensors");
  ASSERT_THAT(
      WriteSafetensors(path, {{"a", MakeTensor(DType::kUInt8, {1}, "x")},
                              {"b", MakeTensor(DType::kInt64, {1}, "01234567")},
                              {"c", MakeTensor(DType::kUInt8, {2}, "yz")}}),
      IsOk());
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(path));
  const std::string header =
      R"({"b":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"U8","shape":[1],"data_offsets":[8,9]},)"
      R"("c":{"dtype":"U8","shape":[2],"data_offsets":[9,11]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(bytes, MakeFile(header + padding, "01234567xyz"));
}

TEST(SafetensorsTest, MetadataComesFirstAndIsReadBack) {
  const std::string path = TempPath("metadata.safetensors");
  const Metadata metadata = {{"b", "\"quoted\""}, {"a", ""}};
  ASSERT_THAT(WriteSafetensors(
                  path, {{"x", MakeTensor(DType::kUInt8, {1}, "x")}}, metadata),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(path));
  const std::string header =
      R"({"__metadata__":{"a":"","b":"\"quoted\""},)"
      R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(bytes, MakeFile(header + padding, "x"));
  ASSERT_OK_AND_ASSIGN(const SafetensorsFile file, ReadSafetensorsFile(path));
  EXPECT_EQ(file.metadata, metadata);
  EXPECT_EQ(file.tensors.size(), 1u);
}

TEST(SafetensorsTest, AFileMayHoldNothing) {
  const std::string path = TempPath("nothing.safetensors");
  ASSERT_THAT(WriteSafetensors(path, {}), IsOk());
  ASSERT_OK_AND_ASSIGN(const TensorMap read, ReadSafetensors(path));
  EXPECT_TRUE(read.empty());
}

TEST(SafetensorsTest, RefusesToWriteWhatItCouldNotReadBack) {
  const std::string path = TempPath("refused.safetensors");
  EXPECT_THAT(
      WriteSafetensors(path, {{"a", MakeTensor(DType::kFloat32, {2}, "abcd")}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("'a'"), HasSubstr("4 bytes"))));
  EXPECT_THAT(WriteSafetensors(path, {{"__metadata__",
                                       MakeTensor(DType::kUInt8, {1}, "x")}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'__metadata__'")));
  EXPECT_EQ(ReadFile(path).status().code(), absl::StatusCode::kNotFound);
}

struct BadFile {
  std::string what;
  std::string bytes;
  std::string message;
};

class BadSafetensorsTest : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadSafetensorsTest, IsRefused) {
  EXPECT_THAT(ParseSafetensors(GetParam().bytes, "bad.safetensors"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("bad.safetensors"),
                             HasSubstr(GetParam().message))));
}

// One tensor "t" with this dtype, shape and offsets, in 8 bytes of data.
std::string OneTensor(const std::string& dtype, const std::string& shape,
                      const std::string& offsets) {
  return MakeFile(R"({"t":{"dtype":)" + dtype + R"(,"shape":)" + shape +
                      R"(,"data_offsets":)" + offsets + "}}",
                  "12345678");
}

std::string TwoTensors(const std::string& first, const std::string& second) {
  return MakeFile(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
                      R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" +
                      second + "}}",
                  "12345678");
}

INSTANTIATE_TEST_SUITE_P(
    Header, BadSafetensorsTest,
    ::testing::Values(
        BadFile{"Empty", "", "has only 0 bytes"},
        BadFile{"SevenBytes", "1234567", "has only 7 bytes"},
        BadFile{"HeaderBeyondTheFile", MakeFile("{}").substr(0, 9),
                "header of 2 bytes, but there is room for 1"},
        BadFile{"HugeHeader", std::string(8, '\xff') + "{}",
                "header of 18446744073709551615 bytes"},
        BadFile{"NoHeader", MakeFile(""), ""},
        BadFile{"NoJson", MakeFile("hello"), ""},
        BadFile{"HalfAnObject", MakeFile("{\"t\":"), ""},
        BadFile{"AList", MakeFile("[]"), "header must be an object"},
        BadFile{
            "NameTwice",
            MakeFile(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                     R"("t":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                     "ab"),
            ""},
        BadFile{"DeepNesting", MakeFile(std::string(100'000, '[')), ""},
        BadFile{"MetadataIsAList", MakeFile(R"({"__metadata__":[]})"),
                "field \"__metadata__\" must be an object"},
        BadFile{"MetadataHoldsANumber", MakeFile(R"({"__metadata__":{"n":1}})"),
                "__metadata__: field \"n\" must be text"}),
    [](const auto& info) { return info.param.what; });

INSTANTIATE_TEST_SUITE_P(
    Entry, BadSafetensorsTest,
    ::testing::Values(
        BadFile{"NoObject", MakeFile(R"({"t":[]})"),
                "field \"t\" must be an object"},
        BadFile{"NoDType",
                MakeFile(R"({"t":{"shape":[],"data_offsets":[0,0]}})"),
                "t: field \"dtype\" is missing"},
        BadFile{"NumericDType", OneTensor("7", "[8]", "[0,8]"),
                "field \"dtype\" must be text"},
        BadFile{"UnknownDType", OneTensor(R"("F64")", "[1]", "[0,8]"),
                "field \"dtype\" must be F32 BF16 F16 I32 I64 U8 or BOOL, not "
                "\"F64\""},
        BadFile{"UnknownField",
                MakeFile(R"({"t":{"dtype":"U8","shape":[1],"strides":[1],)"
                         R"("data_offsets":[0,1]}})",
                         "x"),
                "t: unknown field \"strides\""},
        BadFile{"ShapeIsANumber", OneTensor(R"("U8")", "8", "[0,8]"),
                "field \"shape\" must be a list, not 8"},
        BadFile{"NegativeDimension", OneTensor(R"("U8")", "[-8]", "[0,8]"),
                "field \"shape\" must be a list of integers from 0"},
        BadFile{"FractionalDimension", OneTensor(R"("U8")", "[8.0]", "[0,8]"),
                "field \"shape\" must be a list of integers from 0"},
        BadFile{"EmptyDimension", OneTensor(R"("U8")", "[0]", "[0,0]"), "t: "},
        BadFile{"DimensionBeyond64Bits",
                OneTensor(R"("U8")", "[18446744073709551615]", "[0,8]"),
                "field \"shape\" must be a list of integers from 0"},
        BadFile{"ProductWrapsToTheRightSize",
                OneTensor(R"("U8")", "[4294967296,4294967296,8]", "[0,8]"),
                "t: "},
        BadFile{"TooManyDimensions",
                OneTensor(R"("U8")", "[8,1,1,1,1,1,1,1,1]", "[0,8]"), "t: "}),
    [](const auto& info) { return info.param.what; });

INSTANTIATE_TEST_SUITE_P(
    Offsets, BadSafetensorsTest,
    ::testing::Values(
        BadFile{"Missing", MakeFile(R"({"t":{"dtype":"U8","shape":[1]}})", "x"),
                "field \"data_offsets\" is missing"},
        BadFile{"OneOnly", OneTensor(R"("U8")", "[8]", "[0]"),
                "field \"data_offsets\" must be [begin, begin + 8]"},
        BadFile{"Three", OneTensor(R"("U8")", "[8]", "[0,8,8]"),
                "field \"data_offsets\" must be [begin, begin + 8]"},
        BadFile{"Negative", OneTensor(R"("U8")", "[8]", "[-8,0]"),
                "field \"data_offsets\" must be a list of integers from 0"},
        BadFile{"Backwards", OneTensor(R"("U8")", "[8]", "[8,0]"),
                "field \"data_offsets\" must be [begin, begin + 8]"},
        BadFile{"NotTheSizeOfTheType", OneTensor(R"("F32")", "[3]", "[0,8]"),
                "begin + 12], the size of float32[3]"},
        BadFile{"BeyondTheFile", OneTensor(R"("U8")", "[9]", "[0,9]"),
                "end at byte 9 of the data, which has 8"},
        BadFile{"FarBeyondTheFile",
                OneTensor(R"("U8")", "[8]",
                          "[4611686018427387896,4611686018427387904]"),
                "t: begins at byte 4611686018427387896"},
        BadFile{"DataLeftOver", OneTensor(R"("U8")", "[7]", "[0,7]"),
                "end at byte 7 of the data, which has 8"},
        BadFile{"GapBefore", OneTensor(R"("U8")", "[7]", "[1,8]"),
                "no tensor owns the gap"},
        BadFile{"SameBytes", TwoTensors("[0,4]", "[0,4]"),
                "b: begins at byte 0 of the data, where byte 4 was expected: "
                "it overlaps"},
        BadFile{"Overlap", TwoTensors("[0,4]", "[2,6]"), "b: begins at byte 2"},
        BadFile{"GapBetween", TwoTensors("[0,4]", "[5,9]"),
                "b: begins at byte 5"}),
    [](const auto& info) { return info.param.what; });

TEST(SafetensorsTest, RefusesEveryTruncation) {
  const std::string path = TempPath("truncated.safetensors");
  ASSERT_THAT(WriteSafetensors(path, EveryDType()), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(path));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ParseSafetensors(bytes.substr(0, size), "f").ok()) << size;
  }
}

// For every flipped bit, the file is either refused or read.
TEST(SafetensorsTest, SurvivesEveryFlippedBit) {
  const std::string path = TempPath("flipped.safetensors");
  ASSERT_THAT(WriteSafetensors(path, EveryDType()), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(path));
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const absl::StatusOr<TensorMap> tensors = ParseSafetensors(flipped, "f");
    if (!tensors.ok()) continue;
    for (const auto& [name, tensor] : *tensors) {
      EXPECT_EQ(static_cast<int64_t>(tensor.bytes.size()),
                tensor.type.num_bytes());
    }
  }
}

}  // namespace
}  // namespace spillway
