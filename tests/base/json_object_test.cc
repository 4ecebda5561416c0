#include "base/json_object.h"

#include <limits>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::Not;
using ::testing::SizeIs;
using testing::StatusIs;
using Json = nlohmann::ordered_json;

using testing::kInvalid;

// The message of the reading error.
std::string ErrorOf(const JsonObject& object) {
  EXPECT_THAT(object.status(), StatusIs(kInvalid, ::testing::_));
  return std::string(object.status().message());
}

// The message after `read` of an object with the single field "x".
template <typename Read>
std::string ErrorOf(const Json& value, Read read) {
  const Json json = {{"x", value}};
  JsonObject object(json, "f");
  read(object);
  return ErrorOf(object);
}

TEST(JsonObjectTest, ReadsEveryKindOfField) {
  ASSERT_OK_AND_ASSIGN(
      const Json json,
      ParseJson(R"({"text": "t", "flag": true, "integer": -3, "number": 2.5,
                    "whole": 2, "null": null, "some": 7, "texts": ["a", "b"],
                    "integers": [1, -2], "object": {"x": 1}, "list": [[], 1],
                    "objects": [{"x": 2}, {"x": 3}]})",
                "file"));
  JsonObject object(json, "file");
  EXPECT_EQ(object.Text("text"), "t");
  EXPECT_TRUE(object.Flag("flag"));
  EXPECT_EQ(object.Integer("integer"), -3);
  EXPECT_EQ(object.Number("number"), 2.5);
  EXPECT_EQ(object.Number("whole"), 2.0);
  EXPECT_EQ(object.IntegerOrNull("null"), std::nullopt);
  EXPECT_EQ(object.IntegerOrNull("some"), 7);
  EXPECT_THAT(object.Texts("texts"), ElementsAre("a", "b"));
  EXPECT_THAT(object.Integers("integers"), ElementsAre(1, -2));
  EXPECT_EQ(object.Object("object").Integer("x"), 1);
  EXPECT_EQ(object.List("list").size(), 2);
  EXPECT_EQ(object.Field("list"), Json({Json::array(), 1}));
  std::vector<int64_t> of_objects;
  for (JsonObject item : object.Objects("objects")) {
    of_objects.push_back(item.Integer("x"));
  }
  EXPECT_THAT(of_objects, ElementsAre(2, 3));
  object.RefuseOtherFields();
  EXPECT_THAT(object.status(), IsOk());
}

TEST(JsonObjectTest, FieldsAreFoundInAnyOrderAndRepeatedly) {
  const Json json = {{"a", 1}, {"b", 2}, {"c", 3}};
  JsonObject object(json);
  for (const char* name : {"c", "a", "a", "c", "b", "a"}) {
    EXPECT_EQ(object.Integer(name), json[name].get<int64_t>());
  }
  EXPECT_THAT(object.names(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(object.status(), IsOk());
}

TEST(JsonObjectTest, AFieldOfAnotherKindIsNamedWithWhatItIs) {
  const auto text = [](JsonObject& object) { object.Text("x"); };
  EXPECT_EQ(ErrorOf(7, text), "f: field \"x\" must be text, not 7");
  EXPECT_EQ(ErrorOf(nullptr, text), "f: field \"x\" must be text, not null");
  EXPECT_EQ(ErrorOf(Json::object(), text),
            "f: field \"x\" must be text, not an object");
  EXPECT_EQ(ErrorOf("a\n", [](JsonObject& object) { object.Flag("x"); }),
            "f: field \"x\" must be true or false, not \"a\\n\"");
  EXPECT_EQ(ErrorOf({1}, [](JsonObject& object) { object.Object("x"); }),
            "f: field \"x\" must be an object, not a list");
  EXPECT_EQ(ErrorOf("a", [](JsonObject& object) { object.List("x"); }),
            "f: field \"x\" must be a list, not \"a\"");
  EXPECT_EQ(ErrorOf({"a", 1}, [](JsonObject& object) { object.Texts("x"); }),
            "f: field \"x\" must be a list of texts; it has 1");
  EXPECT_EQ(ErrorOf({1, 2.0}, [](JsonObject& object) { object.Integers("x"); }),
            "f: field \"x\" must be a list of integers; it has 2.0");
  EXPECT_EQ(ErrorOf(Json::array(),
                    [](JsonObject& object) { object.IntegerOrNull("x"); }),
            "f: field \"x\" must be an integer, not an empty list");
}

TEST(JsonObjectTest, IntegersStayInTheirRangeAndInSixtyFourBits) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const Json json = {{"least", kLeast}, {"most", kMost}, {"five", 5u}};
  JsonObject object(json);
  EXPECT_EQ(object.Integer("least"), kLeast);
  EXPECT_EQ(object.Integer("most"), kMost);
  EXPECT_EQ(object.Integer("five", {.least = 5, .most = 5}), 5);
  EXPECT_THAT(object.status(), IsOk());

  const auto read = [](IntegerRange range) {
    return [range](JsonObject& field) { field.Integer("x", range); };
  };
  EXPECT_EQ(ErrorOf(1.5, read({})),
            "f: field \"x\" must be an integer, not 1.5");
  EXPECT_EQ(ErrorOf(1e300, read({})),
            "f: field \"x\" must be an integer, not 1e+300");
  EXPECT_EQ(ErrorOf(uint64_t{1} << 63, read({})),
            "f: field \"x\" must be an integer of 64 bits, "
            "not 9223372036854775808");
  EXPECT_EQ(ErrorOf(uint64_t{1} << 63, read({.least = 0})),
            "f: field \"x\" must be an integer of at least 0, "
            "not 9223372036854775808");
  EXPECT_EQ(ErrorOf(4, read({.least = 5, .most = 9})),
            "f: field \"x\" must be an integer from 5 to 9, not 4");
  EXPECT_EQ(ErrorOf(10, read({.most = 9})),
            "f: field \"x\" must be an integer of at most 9, not 10");
  EXPECT_EQ(
      ErrorOf({-1},
              [](JsonObject& field) { field.Integers("x", {.least = 0}); }),
      "f: field \"x\" must be a list of integers of at least 0; "
      "it has -1");
}

TEST(JsonObjectTest, NumbersStayInTheirRange) {
  const Json json = {{"x", 1}, {"large", 18446744073709551615u}};
  JsonObject object(json);
  EXPECT_EQ(object.Number("x", {.least = 1, .most = 1}), 1);
  EXPECT_EQ(object.Number("large"), 18446744073709551616.0);
  EXPECT_THAT(object.status(), IsOk());
  const auto read = [](JsonObject& field) {
    field.Number("x", {.least = 0, .most = 1e18});
  };
  EXPECT_EQ(ErrorOf(-0.5, read),
            "f: field \"x\" must be a number from 0 to 1e+18, not -0.5");
  EXPECT_EQ(ErrorOf(2e18, read),
            "f: field \"x\" must be a number from 0 to 1e+18, not 2e+18");
  EXPECT_EQ(ErrorOf("1", [](JsonObject& field) { field.Number("x"); }),
            "f: field \"x\" must be a number, not \"1\"");
}

TEST(JsonObjectTest, ErrorsNameTheWholePath) {
  const Json json = {
      {"a", {{"b\n", {{{"c", 1}}, Json::object(), {{"d", 1}}}}}}};
  JsonObject file(json, "file.json");
  JsonObject a = file.Object("a");
  for (JsonObject item : a.Objects("b\n")) {
    if (item.Has("c")) item.Integer("c");
    if (item.Has("d")) item.Text("d");
  }
  EXPECT_EQ(ErrorOf(file),
            "file.json: a: b\\n[2]: field \"d\" must be text, not 1");
}

TEST(JsonObjectTest, AnObjectWithoutANameHasNone) {
  const Json json = {{"a", {{"b", 1}}}};
  JsonObject object(json);
  object.Object("a").Text("b");
  EXPECT_EQ(ErrorOf(object), "a: field \"b\" must be text, not 1");
}

TEST(JsonObjectTest, WhatIsNoObjectIsRefusedAndReadsAsEmpty) {
  const Json json = {1, 2};
  JsonObject object(json, "text");
  EXPECT_EQ(ErrorOf(object), "text must be an object, not a list");
  EXPECT_THAT(object.names(), IsEmpty());
  EXPECT_FALSE(object.Has("a"));
  EXPECT_EQ(object.Text("a"), "");
  object.RefuseOtherFields();
  EXPECT_EQ(ErrorOf(object), "text must be an object, not a list");
  EXPECT_EQ(ErrorOf(JsonObject(json)), "must be an object, not a list");

  const Json list = {{"a", {Json::object(), nullptr}}};
  JsonObject parent(list, "text");
  for (JsonObject item : parent.Objects("a")) item.RefuseOtherFields();
  EXPECT_EQ(ErrorOf(parent), "text: a[1] must be an object, not null");
}

TEST(JsonObjectTest, OnlyTheFirstErrorIsKeptAndGettersReturnEmptyValues) {
  const Json json = {{"a", "x"}, {"b", 5}, {"c", {1}}, {"d", {{"e", 1}}}};
  JsonObject object(json);
  object.Integer("a");
  const std::string first = ErrorOf(object);
  EXPECT_EQ(object.Integer("b"), 0);
  EXPECT_EQ(object.Number("b"), 0);
  EXPECT_FALSE(object.Has("b"));
  EXPECT_THAT(object.Integers("c"), IsEmpty());
  EXPECT_EQ(object.List("c"), Json::array());
  EXPECT_TRUE(object.Field("c").is_null());
  for (JsonObject item : object.Objects("c")) ADD_FAILURE() << item.Text("x");
  EXPECT_EQ(object.Object("d").Integer("e"), 0);
  object.Text("missing");
  object.Fail("b", "is odd");
  object.MustBe("b", "even");
  object.Check("b", InvalidArgument("odd"));
  object.RefuseOtherFields();
  EXPECT_EQ(ErrorOf(object), first);
}

TEST(JsonObjectTest, ALoopOverObjectsEndsWithAnError) {
  const Json json = {{"a", {{{"b", 1}}, {{"b", "x"}}, {{"b", 3}}}}};
  JsonObject object(json);
  std::vector<int64_t> read;
  for (JsonObject item : object.Objects("a")) {
    read.push_back(item.Integer("b"));
  }
  EXPECT_THAT(read, ElementsAre(1, 0));
  EXPECT_EQ(ErrorOf(object), "a[1]: field \"b\" must be an integer, not \"x\"");
}

TEST(JsonObjectTest, OtherFieldsAreRefusedWithTheListOfKnownOnes) {
  const Json json = {{"a", 1}, {"c", 2}, {"e\n", 3}};
  JsonObject object(json, "f");
  if (object.Has("a")) object.Integer("a");
  object.Has("b");
  object.Integer("c");
  object.Integer("a");
  object.RefuseOtherFields();
  EXPECT_EQ(ErrorOf(object),
            R"(f: unknown field "e\n"; known are: "a", "b", "c")");
}

TEST(JsonObjectTest, AMissingFieldMayBeMisspelt) {
  const Json json = {{"nam", "x"}, {"size", 1}};
  JsonObject object(json, "f");
  object.Text("name");
  EXPECT_EQ(ErrorOf(object), "f: field \"name\" is missing");
  object.Integer("size");
  object.RefuseOtherFields();
  EXPECT_EQ(ErrorOf(object),
            "f: field \"name\" is missing; unknown field \"nam\"; known are: "
            "\"name\", \"size\"");
}

// Unknown fields of other objects are not reported with the missing field.
TEST(JsonObjectTest, OtherObjectsKeepTheErrorOfAMissingField) {
  const Json json = {{"a", Json::object()}, {"b", {{"x", 1}}}};
  JsonObject object(json, "f");
  object.Object("a").Text("name");
  object.Object("b").RefuseOtherFields();
  EXPECT_EQ(ErrorOf(object), "f: a: field \"name\" is missing");
}

TEST(JsonObjectTest, CallersAddErrorsOfTheirOwn) {
  const Json json = {{"x", 3}};
  JsonObject even(json, "f");
  even.MustBe("x", "even");
  EXPECT_EQ(ErrorOf(even), "f: field \"x\" must be even, not 3");
  JsonObject odd(json, "f");
  odd.Fail("x", "is odd");
  EXPECT_EQ(ErrorOf(odd), "f: field \"x\" is odd");
  JsonObject checked(json, "f");
  checked.Check("x", absl::OkStatus());
  EXPECT_THAT(checked.status(), IsOk());
  checked.Check("x", Internal("no luck"));
  EXPECT_EQ(ErrorOf(checked), "f: field \"x\": no luck");
  JsonObject missing(json, "f");
  missing.MustBe("y", "even");
  EXPECT_EQ(ErrorOf(missing), "f: field \"y\" is missing");
}

TEST(JsonObjectTest, ErrorsStayShortWhenTextsAreLong) {
  const std::string huge(1 << 20, 'x');
  EXPECT_THAT(ErrorOf(huge, [](JsonObject& object) { object.Flag("x"); }),
              SizeIs(::testing::Lt(300u)));
  const Json json = {{huge, {{huge, 1}}}};
  JsonObject object(json, "f");
  object.Object(huge).RefuseOtherFields();
  EXPECT_THAT(ErrorOf(object), SizeIs(::testing::Lt(500u)));
}

// A search from the front for each field would take minutes here.
TEST(JsonObjectTest, ALargeMapIsReadInOnePass) {
  std::string text = "{\"k\": 0";
  for (int i = 0; i < 200'000; ++i) {
    text += ",\"key" + std::to_string(i) + "\": 1";
  }
  ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(text + "}", "x"));
  JsonObject object(json);
  int64_t sum = 0;
  for (const std::string_view name : object.names()) {
    sum += object.Integer(name);
  }
  EXPECT_EQ(sum, 200'000);
  EXPECT_THAT(object.status(), IsOk());
}

}  // namespace
}  // namespace spillway
