#include "lms/v2/report.h"

#include "lms/lms.h"
#include "tests/lms/chain_e1.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainE1;
using ::testing::Contains;

LmsOptions Options() {
  return {
      .mode = LmsMode::kV2,
      .compat = true,
      .v2 = {.swapout_threshold = 5, .swapin_ahead = 1, .swapin_groupby = 0}};
}

std::vector<std::string> Lines(const LmsOptions& options) {
  Graph graph = ChainE1();
  auto report = ApplyLms(options, graph);
  EXPECT_THAT(report, testing::IsOk());
  report->edit_ns = 1500000;
  return LogLines(options, *report);
}

TEST(V2ReportTest, TheLogHasTheLinesThatUsersLookFor) {
  const std::vector<std::string> expected = {
      "[LMS][0] Editing model for LMS",
      "[LMS][0] The graph has 9 vertices and 11 edges.",
      "[LMS][0] The graph has 0.0 MiB of learning parameters.",
      "[LMS][0] The largest GPU operation is opt/B3 consuming 0.0 GiB",
      "[LMS][0] Original categorized topological sort has 9 levels.",
      "[LMS][0] LMS will use the following parameter set:",
      "[LMS][0]   sync_mode: 0 (Asynchronous memory copy between host and "
      "device)",
      "[LMS][0]   swapout_threshold: 5",
      "[LMS][0]   swapin_ahead: 1",
      "[LMS][0]   swapin_groupby: 0",
      "[LMS][0] Added 2 operations to the model (1 swap-out operations (0.0 "
      "GiB) and 1 swap-in operations (0.0 GiB))",
      "[LMS][0] Editing model for LMS, took: 1.500 ms"};
  EXPECT_EQ(Lines(Options()), expected);
}

TEST(V2ReportTest, TheLogTellsWhatWasSerializedAndIgnored) {
  LmsOptions options = Options();
  options.v2.serialization = {"1", "3:5"};
  options.v2.serialization_by_size_gib = 0.5;
  options.v2.sync_mode = 3;
  const std::vector<std::string> lines = Lines(options);
  for (const char* line :
       {"[LMS][0]   Serialize topological sort levels consuming more than: 0.5 "
        "GiB",
        "[LMS][0]   The maximum level of Assign ops: 0",
        "[LMS][0]   Serialize the topological sort for levels: [1, '3:5']",
        "[LMS][0]   New categorized topological sort has 9 levels.",
        "[LMS][0]   sync_mode: 3 (Synchronous memory copy between host and "
        "device)",
        "[LMS][0]   swapin_ahead: 1 (ignored since sync_mode is 3)",
        "[LMS][0]   swapin_groupby: 0 (ignored since sync_mode is 3)"}) {
    EXPECT_THAT(lines, Contains(line));
  }
}

TEST(V2ReportTest, DebugLinesTellEachSwapAndItsControlEdge) {
  LmsOptions options = Options();
  options.debug_level = 1;
  std::vector<std::string> lines = Lines(options);
  for (const char* line :
       {"[LMS][1] Operations in each topological sort level:",
        "[LMS][1] [0]: [F1]",
        "[LMS][1]   Swap-out: Tensor F1:0 (shape: [16, 16])",
        "[LMS][1]     Swap-out operation: lms/swapout_F1_0",
        "[LMS][1]     Connect: F1 => lms/swapout_F1_0",
        "[LMS][1]     Swap-in operation: lms/swapin_F1_0",
        "[LMS][1]     Connect: lms/swapout_F1_0 => lms/swapin_F1_0",
        "[LMS][1]     Connect: lms/swapin_F1_0 => opt/B1",
        "[LMS][1] Find a control dependency for swapping in opt/B1 (level 7)",
        "[LMS][1] Control dependency: opt/B3 (level 5) => lms/swapin_F1_0 "
        "(level -1)"}) {
    EXPECT_THAT(lines, Contains(line));
  }
  options.v2.sync_mode = 3;
  lines = Lines(options);
  EXPECT_THAT(lines, Contains("[LMS][1] Do synchronization between F1 and "
                              "lms/swapout_F1_0."));
}

}  // namespace
}  // namespace spillway
