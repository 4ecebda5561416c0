#include "base/trace/timeline.h"

#include <string>
#include <vector>

#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/chrome_trace.h"

namespace spillway {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ReadChromeTrace;
using testing::ReadTrace;
using ::testing::UnorderedElementsAre;
using Json = nlohmann::ordered_json;

// Spans of up to 9 ns at random times on three tracks within 64 ns.
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
  const std::string text =
      FormatChromeTrace({{"predicted", &timeline}, {"measured", &timeline}});
  EXPECT_THAT(ReadChromeTrace(text).faults, ElementsAre());
  const Json events = Json::parse(text)["traceEvents"];
  ASSERT_EQ(events.size(), 14u);
  EXPECT_EQ(events[0], Json::parse(R"({"ph": "M", "name": "process_name",
      "pid": 1, "args": {"name": "predicted"}})"));
  EXPECT_EQ(events[3], Json::parse(R"({"ph": "M", "name": "thread_name",
      "pid": 1, "tid": 2, "args": {"name": "copy out"}})"));
  EXPECT_EQ(events[5], Json::parse(R"({"ph": "X", "name": "swapout_\"x\"",
      "cat": "SwapOut", "pid": 1, "tid": 2, "ts": 1.5, "dur": 2.501,
      "args": {"bytes": 4096}})"));
  EXPECT_EQ(events[6], Json::parse(R"({"ph": "C", "name": "live bytes",
      "pid": 1, "ts": 1.0, "args": {"value": 7}})"));
  EXPECT_EQ(events[7]["args"]["name"], "measured");
  EXPECT_EQ(events[12]["pid"], 2);
}

TEST(TimelineTest, ChromeTraceSaysWhatIsRecomputed) {
  const Timeline timeline = {.tracks = {"compute"},
                             .spans = {{.name = "lms/recompute_a_relu",
                                        .category = "Relu",
                                        .end_ns = 2000,
                                        .recomputes = "a/relu"}}};
  const ReadTrace trace =
      ReadChromeTrace(FormatChromeTrace({{"predicted", &timeline}}));
  ASSERT_EQ(trace.slices.size(), 1u);
  EXPECT_EQ(trace.slices[0].args, Json::parse(R"({"recomputes": "a/relu"})"));
}

// a [10, 20) is swapped out at once, is back at 41, and is read by b without
// delay. The copies take no time.
Timeline SwappedTensor() {
  return {
      .tracks = {"compute", "copy out", "copy in"},
      .spans = {{.name = "a", .begin_ns = 10, .end_ns = 20},
                {.track = 1, .name = "out", .begin_ns = 20, .end_ns = 20},
                {.track = 2, .name = "in", .begin_ns = 41, .end_ns = 41},
                {.name = "b", .begin_ns = 41, .end_ns = 50},
                {.name = "c", .begin_ns = 50, .end_ns = 60}},
      .flows = {{.name = "a:0", .spans = {1, 2, 3}},
                {.name = "a:0", .spans = {2, 4}}},
      .stalls = {{.cause = "host", .before = "a", .begin_ns = 0, .end_ns = 10},
                 {.waits_for = "in",
                  .cause = "copy in",
                  .before = "b",
                  .begin_ns = 20,
                  .end_ns = 41}}};
}

TEST(TimelineTest, ChromeTraceHasAnArrowFromEachSpanOfAFlowToTheNext) {
  const Timeline timeline = SwappedTensor();
  const testing::ReadTrace trace = ReadChromeTrace(
      FormatChromeTrace({{"predicted", &timeline}, {"measured", &timeline}}));
  EXPECT_THAT(trace.faults, ElementsAre());
  std::vector<std::string> arrows;
  for (const testing::TraceArrow& arrow : trace.arrows) {
    EXPECT_EQ(arrow.flow, "a:0");
    EXPECT_EQ(arrow.from.process, arrow.to.process);
    arrows.push_back(std::to_string(arrow.from.process) + " " +
                     arrow.from.name + " " + arrow.to.name);
  }
  EXPECT_THAT(arrows, UnorderedElementsAre("1 out in", "1 in b", "1 in c",
                                           "2 out in", "2 in b", "2 in c"));
}

TEST(TimelineTest, ChromeTraceShowsStallsInAThreadOfTheirOwn) {
  const Timeline timeline = SwappedTensor();
  const testing::ReadTrace trace =
      ReadChromeTrace(FormatChromeTrace({{"predicted", &timeline}}));
  std::vector<std::string> stalls;
  for (const testing::TraceSlice& slice : trace.slices) {
    if (slice.thread != "stalls") continue;
    stalls.push_back(std::to_string(slice.begin_ns) + "-" +
                     std::to_string(slice.end_ns) + " " + slice.category +
                     ": " + slice.name + " before " +
                     slice.args["before"].get<std::string>());
  }
  EXPECT_THAT(stalls,
              ElementsAre("0-10 host: waits for the host's call before a",
                          "20-41 copy in: waits for in before b"));
}

// The faults of a trace of one process and thread with these events.
std::vector<std::string> FaultsOf(const std::string& events) {
  return ReadChromeTrace(R"({"traceEvents": [
      {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}},
      {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1,
       "args": {"name": "t"}},
      {"ph": "X", "name": "a", "cat": "", "pid": 1, "tid": 1, "ts": 5,
       "dur": 3},)" + events +
                         "]}")
      .faults;
}

TEST(TimelineTest, TheReaderOfTracesFindsWhatIsWrong) {
  const auto slice = [](int pid, int tid, int ts) {
    return R"({"ph": "X", "name": "b", "cat": "", "pid": )" +
           std::to_string(pid) + R"(, "tid": )" + std::to_string(tid) +
           R"(, "ts": )" + std::to_string(ts) + R"(, "dur": 2})";
  };
  const auto arrow = [](const std::string& phase, int ts) {
    return R"({"cat": "", "name": "f", "id": 1, "pid": 1, "tid": 1, "ts": )" +
           std::to_string(ts) + R"(, "bp": "e", "ph": ")" + phase + R"("})";
  };
  EXPECT_THAT(FaultsOf(slice(1, 1, 8)), ElementsAre());
  EXPECT_THAT(FaultsOf(slice(1, 1, 7)), ElementsAre(HasSubstr("in front")));
  EXPECT_THAT(FaultsOf(slice(1, 2, 8)), ElementsAre(HasSubstr("no name")));
  EXPECT_THAT(FaultsOf(slice(0, 0, 8)), Contains(HasSubstr("below 1")));
  EXPECT_THAT(FaultsOf(R"({"ph": "X", "name": "b"})"),
              ElementsAre(HasSubstr("missing")));
  EXPECT_THAT(FaultsOf(arrow("s", 5) + "," + arrow("f", 7)), ElementsAre());
  EXPECT_THAT(FaultsOf(arrow("s", 5) + "," + arrow("f", 8)),
              Contains(HasSubstr("outside")));
  EXPECT_THAT(FaultsOf(arrow("s", 5)), ElementsAre(HasSubstr("not end")));
  EXPECT_THAT(FaultsOf(arrow("f", 5)), ElementsAre(HasSubstr("no begin")));
  EXPECT_THAT(
      FaultsOf(arrow("s", 5) + "," + arrow("s", 6) + "," + arrow("f", 7)),
      ElementsAre(HasSubstr("twice")));
  EXPECT_THAT(ReadChromeTrace("{").faults, ElementsAre(HasSubstr("no trace")));
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
