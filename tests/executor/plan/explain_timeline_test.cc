#include "executor/plan/explain_timeline.h"

#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "tests/executor/plan/plan_cases.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainGraph;
using testing::Compile;
using ::testing::ElementsAre;

// "f1:0: out1 in1 b1"
std::vector<std::string> FlowTexts(const Timeline& timeline) {
  std::vector<std::string> texts;
  for (const Flow& flow : timeline.flows) {
    std::string text = flow.name + ":";
    for (const int32_t span : flow.spans) {
      text += " " + timeline.spans[static_cast<size_t>(span)].name;
    }
    texts.push_back(text);
  }
  return texts;
}

// "10-30 copy in in1 before b1"
std::vector<std::string> StallTexts(const Timeline& timeline) {
  std::vector<std::string> texts;
  for (const TrackStall& stall : timeline.stalls) {
    texts.push_back(fmt::format("{}-{} {} {} before {}", stall.begin_ns,
                                stall.end_ns, stall.cause, stall.waits_for,
                                stall.before));
  }
  return texts;
}

// f1 f2 f3 b3 b2 b1, where f1 is swapped and b1 reads it. All values have one
// byte.
class ExplainTimelineTest : public ::testing::Test {
 protected:
  // Adds a span of a measured step; its lane is that of the plan.
  void Span(const std::string& name, int64_t begin_ns, int64_t end_ns) {
    for (const Step& step : plan_.steps) {
      if (graph_.node(step.node).name != name) continue;
      timeline_.spans.push_back({.track = static_cast<int32_t>(step.lane),
                                 .name = name,
                                 .begin_ns = begin_ns,
                                 .end_ns = end_ns});
    }
  }

  Graph graph_ = ChainGraph(3, 1, true);
  ExecutionPlan plan_ = Compile(graph_).value();
  Timeline timeline_ = {.tracks = {"compute", "copy out", "copy in"}};
};

TEST_F(ExplainTimelineTest, AStallEndsWithItsCopyAndTheHostsCallFollows) {
  Span("f1", 4, 10);
  Span("f2", 10, 20);
  Span("f3", 21, 30);
  Span("b3", 30, 40);
  Span("b2", 40, 50);
  Span("b1", 78, 90);
  Span("out1", 10, 35);
  Span("in1", 45, 75);
  ExplainTimeline(plan_, graph_, timeline_);
  EXPECT_THAT(FlowTexts(timeline_), ElementsAre("f1:0: out1 in1 b1"));
  EXPECT_THAT(
      StallTexts(timeline_),
      ElementsAre("0-4 host  before f1", "20-21 host  before f3",
                  "50-75 copy in in1 before b1", "75-78 host  before b1"));
}

TEST_F(ExplainTimelineTest, ACopyThatSeemsToEndLateStallsUntilTheKernelBegins) {
  Span("f1", 0, 10);
  Span("f2", 10, 20);
  Span("f3", 20, 30);
  Span("b3", 30, 40);
  Span("b2", 40, 50);
  Span("b1", 70, 90);
  Span("out1", 10, 35);
  Span("in1", 45, 72);
  ExplainTimeline(plan_, graph_, timeline_);
  EXPECT_THAT(StallTexts(timeline_),
              ElementsAre("50-70 copy in in1 before b1"));
}

TEST_F(ExplainTimelineTest, EachLaterReaderHasAFlowFromTheSwapIn) {
  const ValueId back = graph_.output(*graph_.FindNode("in1"));
  graph_.AddNode({.name = "also",
                  .op = "F",
                  .inputs = {back, back},
                  .outputs = {graph_.type(back)}});
  plan_ = Compile(graph_).value();
  for (const Step& step : plan_.steps) {
    Span(graph_.node(step.node).name, 0, 0);
  }
  ExplainTimeline(plan_, graph_, timeline_);
  EXPECT_THAT(FlowTexts(timeline_),
              ElementsAre("f1:0: out1 in1 b1", "f1:0: in1 also"));
}

TEST(ExplainRecomputationTest, TheSpanOfACloneNamesItsOriginal) {
  Graph graph;
  const auto add = [&](std::string name, std::vector<ValueId> inputs) {
    return graph.output(
        graph.AddNode({.name = std::move(name),
                       .op = "F",
                       .inputs = std::move(inputs),
                       .outputs = {{.dtype = DType::kUInt8, .shape = {8}}}}));
  };
  const ValueId a = add("block/a", {});
  const ValueId b = add("b", {a});
  add("reader", {b, add("lms/recompute_block_a", {})});
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(graph));
  Timeline timeline = {.tracks = {"compute", "copy out", "copy in"}};
  for (const Step& step : plan.steps) {
    timeline.spans.push_back({.name = graph.node(step.node).name});
  }
  ExplainTimeline(plan, graph, timeline);
  ASSERT_EQ(timeline.spans.size(), 4u);
  for (const Span& span : timeline.spans) {
    const bool is_clone = span.name == "lms/recompute_block_a";
    EXPECT_EQ(span.recomputes, is_clone ? "block/a" : "") << span.name;
  }
}

TEST_F(ExplainTimelineTest, WithoutSpansThereIsNothingToExplain) {
  ExplainTimeline(plan_, graph_, timeline_);
  EXPECT_TRUE(timeline_.flows.empty());
  EXPECT_TRUE(timeline_.stalls.empty());
}

}  // namespace
}  // namespace spillway
