#include "graph/attributes.h"

#include <limits>

#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::spillway::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using testing::kInvalid;

Attributes OneOfEach() {
  return {{"training", true},
          {"groups", 3},
          {"epsilon", 0.5},
          {"padding", "SAME"},
          {"strides", {1, 2}},
          {"scales", {1, 0.5}},
          {"paddings", {{0, 1}, {2, 3}}},
          {"names", {"a", "b"}},
          {"dtype", DType::kBFloat16},
          {"shape", Shape{64, 10}},
          {"none", {}},
          {"initializer", AttributeValue::Object{{"kind", "zeros"}}}};
}

TEST(AttributesTest, ReadsBackWhatModelsWrite) {
  const Attributes attributes = OneOfEach();
  EXPECT_EQ(attributes.GetBool("training").value(), true);
  EXPECT_EQ(attributes.GetInt("groups").value(), 3);
  EXPECT_EQ(attributes.GetReal("epsilon").value(), 0.5);
  EXPECT_EQ(attributes.GetString("padding").value(), "SAME");
  EXPECT_THAT(attributes.GetInts("strides").value(), ElementsAre(1, 2));
  EXPECT_THAT(attributes.GetReals("scales").value(), ElementsAre(1, 0.5));
  EXPECT_THAT(attributes.GetIntLists("paddings").value(),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_EQ(attributes.GetDType("dtype").value(), DType::kBFloat16);
  EXPECT_EQ(attributes.GetShape("shape").value(), Shape({64, 10}));
  EXPECT_EQ(attributes.GetObject("initializer")->GetString("kind").value(),
            "zeros");
}

TEST(AttributesTest, BracesMakeLists) {
  EXPECT_EQ(*OneOfEach().Find("names"),
            AttributeValue(AttributeValue::List{"a", "b"}));
  EXPECT_EQ(*OneOfEach().Find("strides"),
            AttributeValue(std::vector<int64_t>{1, 2}));
  const Attributes one = {{"axes", {3}}};
  EXPECT_THAT(one.GetInts("axes").value(), ElementsAre(3));
  EXPECT_EQ(*OneOfEach().Find("none"), AttributeValue());
}

TEST(AttributesTest, IntegersCountAsReals) {
  EXPECT_EQ(OneOfEach().GetReal("groups").value(), 3.0);
}

TEST(AttributesTest, MissingAttributesAreNamed) {
  const Attributes none;
  const auto is_missing =
      StatusIs(kInvalid, AllOf(HasSubstr("'k'"), HasSubstr("missing")));
  EXPECT_THAT(none.GetBool("k"), is_missing);
  EXPECT_THAT(none.GetInt("k"), is_missing);
  EXPECT_THAT(none.GetReal("k"), is_missing);
  EXPECT_THAT(none.GetString("k"), is_missing);
  EXPECT_THAT(none.GetInts("k"), is_missing);
  EXPECT_THAT(none.GetReals("k"), is_missing);
  EXPECT_THAT(none.GetIntLists("k"), is_missing);
  EXPECT_THAT(none.GetDType("k"), is_missing);
  EXPECT_THAT(none.GetShape("k"), is_missing);
  EXPECT_THAT(none.GetObject("k"), is_missing);
}

TEST(AttributesTest, FallbacksStandInForMissingAttributesOnly) {
  const Attributes none;
  EXPECT_EQ(none.GetBool("k", true).value(), true);
  EXPECT_EQ(none.GetInt("k", 7).value(), 7);
  EXPECT_EQ(none.GetReal("k", 0.25).value(), 0.25);
  EXPECT_EQ(none.GetString("k", "x").value(), "x");
  EXPECT_THAT(none.GetInts("k", {4, 5}).value(), ElementsAre(4, 5));

  const Attributes attributes = OneOfEach();
  EXPECT_EQ(attributes.GetBool("training", false).value(), true);
  EXPECT_EQ(attributes.GetInt("groups", 7).value(), 3);
  EXPECT_EQ(attributes.GetReal("epsilon", 7).value(), 0.5);
  EXPECT_EQ(attributes.GetString("padding", "x").value(), "SAME");
  EXPECT_THAT(attributes.GetInts("strides", {}).value(), ElementsAre(1, 2));
  // A wrong kind is an error, not a reason to fall back.
  EXPECT_THAT(attributes.GetInt("padding", 7),
              StatusIs(kInvalid, HasSubstr("must be an integer, not text")));
  EXPECT_THAT(attributes.GetInt("none", 7),
              StatusIs(kInvalid, HasSubstr("must be an integer, not null")));
}

TEST(AttributesTest, WrongKindsAreNamed) {
  const Attributes attributes = OneOfEach();
  EXPECT_THAT(attributes.GetBool("groups"),
              StatusIs(kInvalid, HasSubstr("'groups' must be a bool, not an "
                                           "integer")));
  EXPECT_THAT(attributes.GetInt("epsilon"),
              StatusIs(kInvalid, HasSubstr("an integer, not a real")));
  EXPECT_THAT(attributes.GetReal("strides"),
              StatusIs(kInvalid, HasSubstr("a number, not a list")));
  EXPECT_THAT(attributes.GetString("training"),
              StatusIs(kInvalid, HasSubstr("text, not a bool")));
  EXPECT_THAT(attributes.GetInts("scales"),
              StatusIs(kInvalid, HasSubstr("item 1 is a real")));
  EXPECT_THAT(attributes.GetIntLists("strides"),
              StatusIs(kInvalid, HasSubstr("a list of integers, not an "
                                           "integer")));
  EXPECT_THAT(attributes.GetDType("padding"),
              StatusIs(kInvalid, HasSubstr("names no dtype: 'SAME'")));
  EXPECT_THAT(attributes.GetObject("shape"),
              StatusIs(kInvalid, HasSubstr("an object, not a list")));
}

TEST(AttributesTest, RealsMustBeFinite) {
  const Attributes attributes = {
      {"inf", std::numeric_limits<double>::infinity()},
      {"nan", std::numeric_limits<double>::quiet_NaN()},
      {"list", {1.0, -std::numeric_limits<double>::infinity()}}};
  EXPECT_THAT(attributes.GetReal("inf"),
              StatusIs(kInvalid, HasSubstr("finite")));
  EXPECT_THAT(attributes.GetReal("nan"),
              StatusIs(kInvalid, HasSubstr("finite")));
  EXPECT_THAT(attributes.GetReals("list"),
              StatusIs(kInvalid, HasSubstr("finite")));
}

TEST(AttributesTest, ShapesAreChecked) {
  const Attributes attributes = {{"zero", {1, 0}},
                                 {"huge", {int64_t{1} << 40, 1 << 10}}};
  EXPECT_THAT(attributes.GetShape("zero"),
              StatusIs(kInvalid, AllOf(HasSubstr("'zero'"), HasSubstr("> 0"))));
  EXPECT_THAT(attributes.GetShape("huge"),
              StatusIs(kInvalid, HasSubstr("2^46")));
}

TEST(AttributesTest, SetReplaces) {
  Attributes attributes;
  attributes.Set("k", 1);
  attributes.Set("k", "one");
  EXPECT_EQ(attributes.items().size(), 1);
  EXPECT_EQ(attributes.GetString("k").value(), "one");
  EXPECT_TRUE(attributes.contains("k"));
  EXPECT_FALSE(attributes.contains("K"));
}

TEST(AttributesTest, SettingACopyLeavesTheOriginal) {
  const Attributes original = OneOfEach();
  Attributes copy = original;
  EXPECT_EQ(copy, original);
  copy.Set("groups", 4);
  EXPECT_NE(copy, original);
  EXPECT_EQ(original, OneOfEach());
  copy.Set("groups", 3);
  EXPECT_EQ(copy, original);
}

TEST(AttributesTest, NoItemsAreEqualHoweverMade) {
  EXPECT_EQ(Attributes(AttributeValue::Object()), Attributes());
  EXPECT_TRUE(Attributes().items().empty());
  EXPECT_NE(OneOfEach(), Attributes());
}

TEST(AttributesTest, AnIntegerDiffersFromTheEqualReal) {
  EXPECT_NE(AttributeValue(2), AttributeValue(2.0));
  EXPECT_EQ(AttributeValue(2), AttributeValue(int64_t{2}));
}

}  // namespace
}  // namespace spillway
