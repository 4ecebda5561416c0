#include "base/json.h"

#include <string>

#include "base/random.h"
#include "nlohmann/json.hpp"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

// The error of a text that must be refused.
std::string ErrorOf(std::string_view text) {
  const absl::StatusOr<Json> json = ParseJson(text, "<string>");
  EXPECT_THAT(json, StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_))
      << text;
  return std::string(json.status().message());
}

TEST(JsonTest, ReadsEveryKindOfValueAndKeepsTheOrderOfKeys) {
  ASSERT_OK_AND_ASSIGN(
      const Json json,
      ParseJson(R"({"z": [1, -2, 2.5, "a\u00e9\n", true, false, null, {}, []],
                    "a": {"b": 18446744073709551615}})",
                "x.json"));
  EXPECT_EQ(json.dump(),
            "{\"z\":[1,-2,2.5,\"a\xC3\xA9\\n\",true,false,null,{},[]],"
            "\"a\":{\"b\":18446744073709551615}}");
}

// The library's own reader is the naive twin of our event handler.
TEST(JsonTest, AgreesWithTheLibrarysOwnReader) {
  for (const std::string_view text :
       {"1", "-0.5e-3", "\"\"", "[[[]],[{}]]", "[{\"a\":{\"b\":[1,{}]}},2]",
        "\xEF\xBB\xBF{\"bom\": 1}", " [ 1 , 2 ] \n"}) {
    ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(text, "x"));
    EXPECT_EQ(json, Json::parse(text)) << text;
  }
}

TEST(JsonTest, ErrorsNameSourceLineAndColumn) {
  EXPECT_THAT(ParseJson("{\n  \"a\": nul\n}", "graph.json"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(StartsWith("graph.json: line 2, column 11: "),
                             HasSubstr("invalid literal"))));
  EXPECT_THAT(ErrorOf(""), StartsWith("<string>: line 1, column 1: "));
  EXPECT_THAT(ErrorOf("[1,\n\n2"), HasSubstr("line 3, column 1: "));
}

TEST(JsonTest, RefusesTextAfterTheValue) {
  EXPECT_THAT(ErrorOf("{} {}"), HasSubstr("expected end of input"));
}

TEST(JsonTest, RefusesRepeatedKeysOfOneObject) {
  EXPECT_THAT(
      ErrorOf("{\"a\": 1,\n \"b\": 2, \"a\": 3}"),
      AllOf(HasSubstr("line 2, column 16"), HasSubstr("the key \"a\" twice")));
  EXPECT_THAT(ParseJson(R"([{"a": 1}, {"a": {"a": 2}}])", "x"),
              ::spillway::testing::IsOk());
}

TEST(JsonTest, RefusesNumbersThatAreNotFinite) {
  EXPECT_THAT(ErrorOf("[1, 1e999]"), HasSubstr("number overflow"));
  EXPECT_THAT(ErrorOf("[NaN]"), HasSubstr("syntax error"));
  EXPECT_THAT(ErrorOf("[-Infinity]"), HasSubstr("syntax error"));
}

TEST(JsonTest, AllowsSixtyFourLevelsAndNoMore) {
  const std::string deepest = std::string(64, '[') + std::string(64, ']');
  EXPECT_THAT(ParseJson(deepest, "x"), ::spillway::testing::IsOk());
  EXPECT_THAT(
      ErrorOf("[" + deepest + "]"),
      AllOf(HasSubstr("column 65"), HasSubstr("deeper than 64 levels")));
  EXPECT_THAT(ErrorOf(std::string(500'000, '[')),
              HasSubstr("deeper than 64 levels"));
}

TEST(JsonTest, ErrorsStayShortWhenTheBadTokenIsLong) {
  const std::string text = "\"" + std::string(1 << 20, 'x');
  EXPECT_THAT(ErrorOf(text), SizeIs(::testing::Lt(300u)));
}

// A quadratic key check would take minutes here.
TEST(JsonTest, LargeObjectsAreReadInOnePass) {
  std::string text = "{\"k\": 0";
  for (int i = 0; i < 200'000; ++i) {
    text += ",\"key" + std::to_string(i) + "\": 1";
  }
  ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(text + "}", "x"));
  EXPECT_THAT(json, SizeIs(200'001u));
}

TEST(JsonTest, DamagedTextIsReadOrRefusedLikeByTheLibrary) {
  const std::string good =
      R"({"nodes": [{"name": "a", "shape": [1, 2.5e3]}, "\u00e9\\", null]})";
  for (uint64_t i = 0; i < 20'000; ++i) {
    std::string text = good;
    const auto words = Philox4x32(1, i);
    text[words[0] % text.size()] = static_cast<char>(words[1]);
    text.resize(words[2] % 4 == 0 ? words[3] % text.size() : text.size());
    const absl::StatusOr<Json> json = ParseJson(text, "x");
    ASSERT_EQ(json.ok(), Json::accept(text)) << text;
  }
}

TEST(JsonTest, FormatIndentsByTwoAndEndsTheLastLine) {
  EXPECT_EQ(FormatJson({{"b", 1}, {"a", {1, 2}}}),
            "{\n  \"b\": 1,\n  \"a\": [\n    1,\n    2\n  ]\n}\n");
}

TEST(JsonTest, FormatReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(FormatJson("a\xFFz"), "\"a\xEF\xBF\xBDz\"\n");
}

}  // namespace
}  // namespace spillway
