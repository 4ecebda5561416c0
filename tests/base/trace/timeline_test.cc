#include "base/trace/timeline.h"

#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

// Spans of up to 9 ns at random places of three tracks within 64 ns.
Timeline RandomTimeline(uint64_t seed) {
  Timeline timeline = {.tracks = {"compute", "copy out", "copy in"}};
  for (uint64_t i = 0; i < 12; ++i) {
    const auto words = Philox4x32(seed, i);
    const int64_t begin_ns = words[1] % 54;
    timeline.spans.push_back({.track = static_cast<int32_t>(words[0] % 3),
                              .begin_ns = begin_ns,
                              .end_ns = begin_ns + words[2] % 10});
  }
  return timeline;
}

bool IsBusy(const Timeline& timeline, int32_t track, int64_t ns) {
  for (const Span& span : timeline.spans) {
    if (span.track == track && span.begin_ns <= ns && ns < span.end_ns) {
      return true;
    }
  }
  return false;
}

TEST(TimelineTest, BusyAndOverlapAgreeWithCountingEachNanosecond) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Timeline timeline = RandomTimeline(seed);
    int64_t busy_ns = 0;
    int64_t overlap_ns = 0;
    for (int64_t ns = 0; ns < 64; ++ns) {
      const bool busy = IsBusy(timeline, 1, ns);
      busy_ns += busy;
      overlap_ns +=
          busy && (IsBusy(timeline, 0, ns) || IsBusy(timeline, 2, ns));
    }
    EXPECT_EQ(BusyNs(timeline, 1), busy_ns) << seed;
    EXPECT_EQ(OverlapNs(timeline, 1), overlap_ns) << seed;
  }
}

TEST(TimelineTest, TotalGoesFromFirstBeginToLastEnd) {
  EXPECT_EQ(TotalNs({}), 0);
  EXPECT_EQ(TotalNs({.spans = {{.begin_ns = 40, .end_ns = 50},
                               {.begin_ns = 10, .end_ns = 90},
                               {.begin_ns = 20, .end_ns = 30}}}),
            80);
}

TEST(TimelineTest, ChromeTraceHasOneProcessAnEntryAndOneThreadATrack) {
  const Timeline timeline = {
      .tracks = {"compute", "copy out"},
      .spans = {{.track = 1,
                 .name = "swapout_\"x\"",
                 .category = "SwapOut",
                 .begin_ns = 1500,
                 .end_ns = 4001,
                 .bytes = 4096}},
      .counters = {{.counter = "live bytes", .at_ns = 1000, .value = 7}}};
  const Json trace = Json::parse(
      FormatChromeTrace({{"predicted", &timeline}, {"measured", &timeline}}));
  const Json& events = trace["traceEvents"];
  ASSERT_EQ(events.size(), 14u);
  EXPECT_EQ(events[0], Json::parse(R"({"ph": "M", "name": "process_name",
      "pid": 0, "tid": 0, "args": {"name": "predicted"}})"));
  EXPECT_EQ(events[3], Json::parse(R"({"ph": "M", "name": "thread_name",
      "pid": 0, "tid": 1, "args": {"name": "copy out"}})"));
  EXPECT_EQ(events[5], Json::parse(R"({"ph": "X", "name": "swapout_\"x\"",
      "cat": "SwapOut", "pid": 0, "tid": 1, "ts": 1.5, "dur": 2.501,
      "args": {"bytes": 4096}})"));
  EXPECT_EQ(events[6], Json::parse(R"({"ph": "C", "name": "live bytes",
      "pid": 0, "ts": 1.0, "args": {"value": 7}})"));
  EXPECT_EQ(events[7]["args"]["name"], "measured");
  EXPECT_EQ(events[12]["pid"], 1);
}

TEST(TimelineTest, AChromeTraceWithoutATimelineIsNotWritten) {
  const absl::Status status =
      WriteChromeTrace({{.name = "predicted"}}, "never_written.json");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("\"predicted\""));
}

TEST(TimelineTest, ChromeTraceOfNothingIsStillATrace) {
  EXPECT_EQ(Json::parse(FormatChromeTrace({}))["traceEvents"], Json::array());
}

}  // namespace
}  // namespace spillway
