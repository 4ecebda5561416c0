#include "lms/v2/options.h"

#include <limits>

#include "graph/format/json_format.h"
#include "lms/lms.h"
#include "tests/lms/chain_e1.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainE1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

std::vector<int64_t> Levels(std::string_view item, bool compat = false) {
  const auto slice = ParseLevelSlice(item, compat);
  EXPECT_THAT(slice, testing::IsOk());
  return slice->Levels(6);
}

// Like list(range(6))[item] in Python.
TEST(V2OptionsTest, SlicesOfLevelsAreThoseOfPython) {
  EXPECT_THAT(Levels("3"), ElementsAre(3));
  EXPECT_THAT(Levels(" 3 "), ElementsAre(3));
  EXPECT_THAT(Levels("3:5"), ElementsAre(3, 4));
  EXPECT_THAT(Levels("4:"), ElementsAre(4, 5));
  EXPECT_THAT(Levels(":2"), ElementsAre(0, 1));
  EXPECT_THAT(Levels("-2:"), ElementsAre(4, 5));
  EXPECT_THAT(Levels("1:6:2"), ElementsAre(1, 3, 5));
  EXPECT_THAT(Levels("1:900:2"), ElementsAre(1, 3, 5));
  EXPECT_THAT(Levels("::-2"), ElementsAre(5, 3, 1));
  EXPECT_THAT(Levels("4:1:-1"), ElementsAre(4, 3, 2));
  EXPECT_THAT(Levels("-100:2"), ElementsAre(0, 1));
  EXPECT_THAT(Levels("::4000000000000000000"), ElementsAre(0));
  EXPECT_THAT(Levels("7"), IsEmpty());
  EXPECT_THAT(Levels("5:3"), IsEmpty());
}

TEST(V2OptionsTest, MinusOneIsTheLastLevelButNotInTheOriginal) {
  EXPECT_THAT(Levels("-1"), ElementsAre(5));
  EXPECT_THAT(Levels("-1", true), IsEmpty());
  EXPECT_THAT(Levels("-2"), ElementsAre(4));
  EXPECT_THAT(Levels("-2", true), ElementsAre(4));
}

TEST(V2OptionsTest, ItemsThatAreNoSlicesAreNamed) {
  for (const char* item : {"", "a", "1:b", "1:2:3:4", "1:2:0", "1.5", "1-3",
                           "99999999999999999999", "+-3", "1 2"}) {
    EXPECT_THAT(ParseLevelSlice(item, false),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(std::string("\"") + item + "\"")));
  }
}

LmsOptions Good() {
  return {
      .mode = LmsMode::kV2,
      .v2 = {.swapout_threshold = 1, .swapin_ahead = 1, .swapin_groupby = 0}};
}

TEST(V2OptionsTest, AnOptionOutOfRangeIsNamedAndTheGraphStaysAsItWas) {
  struct Bad {
    void (*change)(LmsOptions&);
    std::string message;
  };
  const std::vector<Bad> bad = {
      {[](LmsOptions& o) { o.v2.swapout_threshold = 0; },
       "lms_swapout_threshold: 0 is neither"},
      {[](LmsOptions& o) { o.v2.swapout_threshold = -2; },
       "lms_swapout_threshold: -2 is neither"},
      {[](LmsOptions& o) { o.v2.swapin_ahead = 0; },
       "lms_swapin_ahead: 0 is neither"},
      {[](LmsOptions& o) { o.v2.swapin_groupby = -3; },
       "lms_swapin_groupby: -3 is neither"},
      {[](LmsOptions& o) { o.v2.sync_mode = 4; },
       "lms_sync_mode: 4 is not 0, 1, 2 or 3"},
      {[](LmsOptions& o) { o.v2.sync_mode = -1; },
       "lms_sync_mode: -1 is not 0, 1, 2 or 3"},
      {[](LmsOptions& o) {
         o.v2.serialization = {"1", "x:2"};
       },
       "\"x:2\""},
      {[](LmsOptions& o) { o.v2.serialization = {"5:2"}; },
       "lms_serialization: \"5:2\" selects none of the"},
      {[](LmsOptions& o) { o.v2.serialization_by_size_gib = -0.5; },
       "lms_serialization_by_size: -0.5 GiB is not"},
      {[](LmsOptions& o) {
         o.v2.serialization_by_size_gib =
             std::numeric_limits<double>::infinity();
       },
       "lms_serialization_by_size"},
      {[](LmsOptions& o) { o.v2.swapout_threshold = -1; },
       "lms_swapout_threshold: is -1, to be tuned"},
      {[](LmsOptions& o) { o.v2.swapin_ahead = -1; },
       "lms_swapin_ahead: is -1, to be tuned"},
      {[](LmsOptions& o) { o.v2.swapin_groupby = -1; },
       "lms_swapin_groupby: is -1, to be tuned"},
      {[](LmsOptions& o) { o.v2.excl_output_by_scopes = {"none"}; },
       "lms_excl_output_by_scopes: no node's name begins with \"none\"; the "
       "top-level scopes are: F1, F2, F3, F4, opt"},
      {[](LmsOptions& o) { o.v2.incl_input_by_types = {"None"}; },
       "lms_incl_input_by_types: no node is of the op None"},
      {[](LmsOptions& o) {
         o.v2.incl_output_by_scopes = {"F1"};
         o.v2.excl_output_by_types = {"Op"};
       },
       "lms_excl_output_by_types: leave no node"}};
  const std::string before = FormatGraph(ChainE1());
  for (const Bad& row : bad) {
    SCOPED_TRACE(row.message);
    LmsOptions options = Good();
    row.change(options);
    Graph graph = ChainE1();
    EXPECT_THAT(
        ApplyLms(options, graph),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(row.message)));
    EXPECT_EQ(FormatGraph(graph), before);
  }
}

TEST(V2OptionsTest, SyncModesOfSwapInsNeedNeitherAheadNorGroupby) {
  for (const int64_t sync_mode : {2, 3}) {
    EXPECT_THAT(CheckV2Options(
                    {.mode = LmsMode::kV2,
                     .v2 = {.swapout_threshold = 1, .sync_mode = sync_mode}}),
                testing::IsOk());
  }
}

}  // namespace
}  // namespace spillway
