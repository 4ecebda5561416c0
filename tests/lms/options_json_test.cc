#include "lms/options_json.h"

#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;
using Json = nlohmann::ordered_json;

// Every option differs from its default.
LmsOptions UnusualOptions() {
  return {.mode = LmsMode::kV1,
          .size_threshold_bytes = 4096,
          .compat = true,
          .debug_level = 2,
          .recompute = {.policy = RecomputePolicy::kSqrt,
                        .excl_scopes = {"o"},
                        .excl_types = {"P"}},
          .v1 = {.optimizer_scopes = {"opt"},
                 .starting_scope = "conv1",
                 .starting_op_names = {"a", "b"},
                 .excl_scopes = {"c"},
                 .incl_scopes = {"d"},
                 .excl_types = {"E"},
                 .incl_types = {"F"},
                 .n_tensors = 7,
                 .lb = 3,
                 .ub = 9,
                 .ctrld_strategy = ControlStrategy::kDirectOrder,
                 .fuse_swapins = true,
                 .swap_branches = true,
                 .branch_threshold = 4},
          .v2 = {.swapout_threshold = 20,
                 .swapin_ahead = 5,
                 .swapin_groupby = 2,
                 .sync_mode = 3,
                 .serialization = {"1", "3:5"},
                 .serialization_by_size_gib = 0.5,
                 .is_training = false,
                 .excl_output_by_scopes = {"g"},
                 .excl_output_by_types = {"H"},
                 .excl_input_by_scopes = {"i"},
                 .excl_input_by_types = {"J"},
                 .incl_output_by_scopes = {"k"},
                 .incl_output_by_types = {"L"},
                 .incl_input_by_scopes = {"m"},
                 .incl_input_by_types = {"N"}}};
}

TEST(OptionsJsonTest, EveryFieldSurvivesTheWayThereAndBack) {
  const Json unusual = ToJson(UnusualOptions());
  const Json defaults = ToJson(LmsOptions{});
  EXPECT_EQ(unusual.size(), 36u);
  for (const auto& [name, value] : unusual.items()) {
    EXPECT_NE(value, defaults[name]) << name;
  }
  ASSERT_OK_AND_ASSIGN(const LmsOptions parsed, ParseLmsOptions(unusual));
  EXPECT_EQ(ToJson(parsed), unusual);
}

TEST(OptionsJsonTest, FieldsLeftOutHaveTheirDefaults) {
  ASSERT_OK_AND_ASSIGN(const LmsOptions parsed, ParseLmsOptions({{"lb", 3}}));
  LmsOptions expected;
  expected.v1.lb = 3;
  EXPECT_EQ(ToJson(parsed), ToJson(expected));
}

TEST(OptionsJsonTest, UsedOptionsAreThoseOfTheVersion) {
  EXPECT_EQ(UsedOptionsToJson({}), Json({{"mode", "off"}}));
  const Json v1 = UsedOptionsToJson({.mode = LmsMode::kV1});
  EXPECT_TRUE(v1.contains("lb") && v1.contains("compat"));
  EXPECT_FALSE(v1.contains("swapin_ahead"));
  const Json v2 = UsedOptionsToJson({.mode = LmsMode::kV2});
  EXPECT_TRUE(v2.contains("swapin_ahead") && v2.contains("compat"));
  EXPECT_FALSE(v2.contains("lb"));
  EXPECT_EQ(
      UsedOptionsToJson({.recompute = {.policy = RecomputePolicy::kCheap}}),
      Json({{"mode", "off"},
            {"recompute", "cheap"},
            {"recompute_excl_scopes", Json::array()},
            {"recompute_excl_types", Json::array()}}));
}

TEST(OptionsJsonTest, AnUnknownFieldIsNamed) {
  EXPECT_THAT(ParseLmsOptions({{"lbb", 3}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("LMS options: unknown field \"lbb\"")));
}

TEST(OptionsJsonTest, AFieldOfTheWrongKindIsNamedWithWhatItTakes) {
  const std::vector<std::pair<Json, std::string>> bad = {
      {{{"lb", 1.5}}, "LMS options: field \"lb\" must be an integer, not 1.5"},
      {{{"lb", 18446744073709551615u}}, "must be an integer"},
      {{{"compat", 1}}, "must be true or false, not 1"},
      {{{"mode", "v3"}}, "must be off, auto, v1 or v2, not \"v3\""},
      {{{"ctrld_strategy", 1}}, "must be chain_rule or direct_order, not 1"},
      {{{"excl_types", "Conv"}}, "must be a list, not \"Conv\""},
      {{{"excl_types", Json::array({1})}}, "must be a list of texts"},
      {{{"starting_scope", nullptr}}, "must be text, not null"},
      {{{"serialization_by_size", "1"}}, "must be a number"},
      {Json::array({1}), "must be an object"}};
  for (const auto& [json, message] : bad) {
    EXPECT_THAT(
        ParseLmsOptions(json),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

TEST(OptionsJsonTest, AModeIsTextOnly) {
  EXPECT_THAT(ParseLmsOptions({{"mode", 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("off, auto, v1 or v2")));
}

}  // namespace
}  // namespace spillway
