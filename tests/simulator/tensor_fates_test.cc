#include "simulator/tensor_fates.h"

#include <map>
#include <string>
#include <vector>

#include "tests/executor/plan/plan_cases.h"
#include "tests/executor/plan/random_plan_case.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Every copy takes a nanosecond per byte.
DeviceProfile FateProfile() {
  const LinkDirection link = {.bytes_per_second = 1e9,
                              .shared_bytes_per_second = 1e9};
  return {.to_host = link, .to_device = link};
}

// a is copied out while b computes, and back for r; b stays. Both have 1024
// bytes.
//
//   compute   | a 0-100 | b 100-300 |  (a is gone at 1124)  | r .. |
//   copy out            | 100-1124 |
//   copy in              waits for b and the copy out | 1124-2148 |
class HandWorkedStep : public ::testing::Test {
 protected:
  HandWorkedStep() {
    a_ = AddBuffer("a:0", Space::kDevice, {0, 3});
    b_ = AddBuffer("b:0", Space::kDevice, {1, 5});
    host_ = AddBuffer("out:0", Space::kHost, {2, 4});
    back_ = AddBuffer("in:0", Space::kDevice, {3, 5});
    r_ = AddBuffer("r:0", Space::kDevice, {4, 5});
    AddStep({.outputs = {a_}}, "a", 100);
    AddStep({.outputs = {b_}}, "b", 200);
    AddStep({.kind = StepKind::kSwapOut,
             .lane = Lane::kCopyOut,
             .inputs = {a_},
             .outputs = {host_},
             .waits = {StepId(0)}},
            "out", 0);
    AddStep({.kind = StepKind::kSwapIn,
             .lane = Lane::kCopyIn,
             .inputs = {host_},
             .outputs = {back_},
             .waits = {StepId(1), StepId(2)}},
            "in", 0);
    AddStep({.inputs = {back_, b_}, .outputs = {r_}, .waits = {StepId(3)}}, "r",
            50);
  }

  BufferId AddBuffer(const std::string& name, Space space, Interval live) {
    return plan_.buffers.push_back(
        {.name = name, .space = space, .bytes = 1024, .live = live});
  }

  void AddStep(Step step, const std::string& name, int64_t ns) {
    step.node = graph_.AddNode({.name = name, .op = "F"});
    times_.push_back(ns);
    plan_.steps.push_back(std::move(step));
  }

  std::map<std::string, TensorFate> Fates(int64_t min_bytes = 0) const {
    std::map<std::string, TensorFate> fates;
    for (const TensorFate& fate : FindTensorFates(
             plan_, SimulateStep(plan_, graph_, times_, FateProfile()),
             min_bytes)) {
      fates[plan_.buffers[fate.buffer].name] = fate;
    }
    return fates;
  }

  Graph graph_ = Graph("hand");
  ExecutionPlan plan_;
  IdMap<NodeId, int64_t> times_;
  BufferId a_, b_, host_, back_, r_;
};

TEST_F(HandWorkedStep, WhatMovesIsAwayBetweenItsCopies) {
  const auto fates = Fates();
  ASSERT_EQ(fates.size(), 3U);  // the copy of a has no row
  const TensorFate& a = fates.at("a:0");
  EXPECT_TRUE(a.moves);
  EXPECT_THAT(a.away, IsEmpty());  // comes back as soon as it has left
  EXPECT_EQ(a.copy_out_ns, 1024);
  EXPECT_EQ(a.copy_in_ns, 1024);
  EXPECT_EQ(a.stall_ns, 2148 - 300);  // r waits for it
  EXPECT_EQ(a.freed_byte_seconds, 0);
}

TEST_F(HandWorkedStep, ALaterReturnFreesBytes) {
  times_[NodeId(1)] = 2000;  // b ends at 2100, then a comes back
  const auto fates = Fates();
  const TensorFate& a = fates.at("a:0");
  EXPECT_THAT(a.away, ElementsAre(Interval{1124, 2100}));
  EXPECT_EQ(a.stall_ns, 1024);
  EXPECT_DOUBLE_EQ(a.freed_byte_seconds, 1024 * 976e-9);
  // b (from 100) and a fill the peak; r does not exist yet, and a stayed.
  EXPECT_TRUE(fates.at("b:0").at_peak);
  const TensorFate& b = fates.at("b:0");
  EXPECT_FALSE(b.moves);
  EXPECT_EQ(b.stall_ns + b.copy_in_ns + b.copy_out_ns, 0);
  EXPECT_THAT(b.away, IsEmpty());
}

// a, then b for 200 ns, then a again, by a clone for 30 ns, and r.
TEST(TensorFatesTest, WhatACloneComputesBelongsToItsOriginal) {
  Graph graph("hand");
  const TensorType type = {.dtype = DType::kFloat32, .shape = {256}};
  ExecutionPlan plan;
  IdMap<NodeId, int64_t> times;
  const auto add = [&](const std::string& name, Interval live, int64_t ns,
                       std::vector<BufferId> inputs) {
    const BufferId output = plan.buffers.push_back(
        {.name = name + ":0", .bytes = 1024, .live = live});
    const NodeId node =
        graph.AddNode({.name = name, .op = "F", .outputs = {type}});
    plan.steps.push_back(
        {.node = node, .inputs = std::move(inputs), .outputs = {output}});
    plan.buffer_of.push_back(output);
    times.push_back(ns);
    return output;
  };
  const BufferId a = add("a", {0, 2}, 100, {});
  const BufferId b = add("b", {1, 4}, 200, {a});
  const BufferId again = add("lms/recompute_a", {2, 4}, 30, {});
  add("r", {3, 4}, 50, {b, again});
  const SimulatedStep step = SimulateStep(plan, graph, times, FateProfile());
  IdMap<ValueId, ValueId> original_of(plan.buffer_of.size(), ValueId());
  original_of[ValueId(2)] = ValueId(0);
  const std::vector<TensorFate> fates =
      FindTensorFates(plan, step, 0, original_of);
  ASSERT_EQ(fates.size(), 3U);
  const TensorFate& fate = fates[0];
  EXPECT_EQ(fate.buffer, a);
  EXPECT_TRUE(fate.recomputed);
  EXPECT_FALSE(fate.moves);
  EXPECT_EQ(fate.recompute_ns, 30);
  EXPECT_EQ(fate.away.size(), 0);  // made again as b ends
  EXPECT_EQ(fate.life, (Interval{0, 380}));
  EXPECT_FALSE(fates[1].recomputed);
  EXPECT_EQ(FindTensorFates(plan, step).size(), 4U);  // without the knowledge
}

// A clone makes b again in the bytes of the copy of a that came back for r:
// until then they count for a, and then for b.
TEST_F(HandWorkedStep, ACloneThatOverwritesACopyTakesItsBytesOver) {
  plan_.buffers[b_].live.end = 2;
  plan_.buffers[back_].live.end = 7;
  plan_.steps[StepId(4)].inputs = {back_};
  AddStep({.inputs = {back_}, .outputs = {back_}}, "lms/recompute_b", 30);
  AddStep({.inputs = {back_}, .outputs = {}}, "s", 40);
  plan_.buffer_of.push_back(b_);
  plan_.buffer_of.push_back(back_);
  IdMap<ValueId, ValueId> original_of(2, ValueId());
  original_of[ValueId(1)] = ValueId(0);
  const SimulatedStep step = SimulateStep(plan_, graph_, times_, FateProfile());
  std::map<std::string, TensorFate> fates;
  for (const TensorFate& fate : FindTensorFates(plan_, step, 0, original_of)) {
    fates[plan_.buffers[fate.buffer].name] = fate;
  }
  const TensorFate& a = fates.at("a:0");
  EXPECT_TRUE(a.moves);
  EXPECT_FALSE(a.recomputed);
  EXPECT_EQ(a.copy_in_ns, 1024);
  EXPECT_EQ(a.life, (Interval{0, 2148 + 50}));  // r takes 50
  const TensorFate& b = fates.at("b:0");
  EXPECT_FALSE(b.moves);
  EXPECT_TRUE(b.recomputed);
  EXPECT_EQ(b.copy_in_ns, 0);
  EXPECT_EQ(b.recompute_ns, 30);
  EXPECT_THAT(b.away, ElementsAre(Interval{300, 2148 + 50}));
  EXPECT_EQ(b.life.end, 2148 + 50 + 30 + 40);
}

TEST_F(HandWorkedStep, ThePeakIsWhereRRuns) {
  const auto fates = Fates();
  for (const auto& [name, fate] : fates) EXPECT_TRUE(fate.at_peak) << name;
}

TEST_F(HandWorkedStep, SmallerTensorsAreLeftOut) {
  plan_.buffers[b_].bytes = 1025;  // 1280 aligned
  EXPECT_EQ(Fates(1025).size(), 1U);
  EXPECT_EQ(Fates(1280).size(), 1U);
  EXPECT_THAT(Fates(1281), IsEmpty());
}

TEST(TensorFatesTest, AllStallsAreChargedAndTheLargestComesFirst) {
  const Graph graph = testing::ChainGraph(8, 1000, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, testing::Compile(graph));
  const SimulatedStep step =
      SimulateStep(plan, graph, IdMap<NodeId, int64_t>(graph.num_nodes(), 10),
                   FateProfile());
  int64_t charged_ns = 0;
  int moves = 0;
  for (const TensorFate& fate : FindTensorFates(plan, step)) {
    charged_ns += fate.stall_ns;
    if (fate.moves) ++moves;
  }
  EXPECT_EQ(moves, 6);  // f1 to f6
  EXPECT_GT(charged_ns, 0);
  EXPECT_EQ(charged_ns,
            step.stall_ns[static_cast<size_t>(StallCause::kCopyIn)] +
                step.stall_ns[static_cast<size_t>(StallCause::kCopyOut)]);
}

TEST(TensorFatesTest, ATensorThatIsFedAgainHasOneRowAndMoves) {
  Graph graph;
  const auto add = [&](const std::string& name, const std::string& op,
                       std::vector<ValueId> inputs) {
    return graph.output(graph.AddNode(
        {.name = name,
         .op = op,
         .inputs = std::move(inputs),
         .outputs = {{.dtype = DType::kUInt8, .shape = {1024}}}}));
  };
  const ValueId x = add("x", "Placeholder", {});
  const ValueId a = add("a", "F", {x});
  const ValueId in = add("in", "SwapIn", {add("out", "SwapOut", {x})});
  add("b", "F", {a, in});
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, testing::Compile(graph));
  const SimulatedStep step =
      SimulateStep(plan, graph, IdMap<NodeId, int64_t>(graph.num_nodes(), 10),
                   FateProfile());
  int rows = 0;
  for (const TensorFate& fate : FindTensorFates(plan, step)) {
    EXPECT_NE(fate.buffer, plan.buffer_of[in]);
    if (fate.buffer != plan.buffer_of[x]) continue;
    ++rows;
    EXPECT_TRUE(fate.moves);
    EXPECT_EQ(fate.copy_out_ns, 0);
    EXPECT_EQ(fate.copy_in_ns, 2 * 1024);
  }
  EXPECT_EQ(rows, 1);
}

// Every device buffer except scratch is a tensor's first buffer or a copy of
// it.
TEST(TensorFatesTest, EveryTensorOfARandomPlanHasOneRow) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const testing::PlanCase plan_case =
        testing::RandomPlanCase({.seed = seed, .nodes = 20});
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, testing::Compile(plan_case));
    const SimulatedStep step =
        SimulateStep(plan, plan_case.graph,
                     IdMap<NodeId, int64_t>(plan_case.graph.num_nodes(), 100),
                     FateProfile());
    IdMap<BufferId, bool> has_row(plan.buffers.size(), false);
    int64_t last_bytes = std::numeric_limits<int64_t>::max();
    for (const TensorFate& fate : FindTensorFates(plan, step)) {
      EXPECT_FALSE(has_row[fate.buffer]);
      has_row[fate.buffer] = true;
      EXPECT_LE(fate.bytes, last_bytes);
      last_bytes = fate.bytes;
    }
    for (const Step& used : plan.steps) {
      if (used.kind == StepKind::kSwapIn || IsFedAgain(plan, used)) {
        has_row[used.outputs[0]] = true;  // if its source is not a variable
      }
    }
    for (const BufferId id : plan.buffers.ids()) {
      const Buffer& buffer = plan.buffers[id];
      const bool is_tensor = buffer.kind == BufferKind::kTransient &&
                             buffer.space == Space::kDevice &&
                             !buffer.live.empty();
      EXPECT_TRUE(has_row[id] || !is_tensor) << buffer.name;
    }
  }
}

}  // namespace
}  // namespace spillway
