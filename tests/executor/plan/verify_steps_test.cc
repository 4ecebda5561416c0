#include "executor/plan/verify_steps.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "executor/plan/compile.h"
#include "executor/plan/verify_plan.h"
#include "tests/executor/plan/plan_cases.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainGraph;
using testing::Compile;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInternal;
using testing::StatusIs;
using testing::ToyOps;

Step& StepNamed(ExecutionPlan& plan, const Graph& graph,
                std::string_view name) {
  return *std::ranges::find_if(plan.steps, [&](const Step& step) {
    return graph.node(step.node).name == name;
  });
}

TEST(VerifyStepsTest, ScratchIsWhatTheKernelAsksForAndOnTheDevice) {
  const Graph graph = ChainGraph(4, 1_KiB, false);
  IdMap<NodeId, int64_t> scratch(graph.num_nodes(), 0);
  scratch[NodeId(1)] = 700;
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan good,
                       Compile(graph, {.workspace_bytes = scratch}));
  ASSERT_THAT(VerifyPlan(good, graph, ToyOps(), &scratch), IsOk());
  const auto fault = [&](auto&& damage) {
    ExecutionPlan plan = good;
    damage(plan, StepNamed(plan, graph, "f2"));
    return VerifyPlan(plan, graph, ToyOps(), &scratch);
  };
  EXPECT_THAT(fault([](ExecutionPlan& plan, Step& step) {
                plan.buffers[step.workspace].bytes = 256;
              }),
              StatusIs(kInternal, HasSubstr("256 bytes of scratch, not 700")));
  EXPECT_THAT(fault([](ExecutionPlan&, Step& step) { step.workspace = {}; }),
              StatusIs(kInternal, HasSubstr("0 bytes of scratch, not 700")));
  EXPECT_THAT(fault([](ExecutionPlan& plan, Step& step) {
                plan.steps[StepId(0)].workspace = step.workspace;
              }),
              StatusIs(kInternal, HasSubstr("700 bytes of scratch, not 0")));
  EXPECT_THAT(fault([](ExecutionPlan& plan, Step& step) {
                plan.buffers[step.workspace].space = Space::kHost;
                plan.buffers[step.workspace].offset = 0;
                plan.host_bytes = 1_KiB;
              }),
              StatusIs(kInternal, HasSubstr("scratch is not where it runs")));
}

// w, v: variables; y = InPlace(w), z = F(y), Update(w, z).
class VerifyResidentStepsTest : public ::testing::Test {
 protected:
  VerifyResidentStepsTest() {
    w_ = Add("w", kVariable, {});
    v_ = Add("v", kVariable, {});
    y_ = Add("y", "InPlace", {w_});
    z_ = Add("z", "F", {y_, v_});
    u_ = Add("u", "Update", {w_, z_});
    plan_ = Compile(graph_, {.fetches = {u_}}).value();
  }

  ValueId Add(std::string name, std::string_view op,
              std::vector<ValueId> inputs) {
    return graph_.output(graph_.AddNode(
        {.name = std::move(name),
         .op = std::string(op),
         .inputs = std::move(inputs),
         .outputs = {{.dtype = DType::kUInt8, .shape = {1024}}}}));
  }

  Buffer& BufferOf(ValueId value) {
    return plan_.buffers[plan_.buffer_of[value]];
  }

  // `value` gets the bytes of `other` in all steps.
  void Give(ValueId value, ValueId other) {
    const BufferId from = plan_.buffer_of[value];
    const BufferId to = plan_.buffer_of[other];
    for (Step& step : plan_.steps) {
      std::ranges::replace(step.inputs, from, to);
      std::ranges::replace(step.outputs, from, to);
    }
    plan_.buffer_of[value] = to;
  }

  void ExpectFault(const std::string& message) {
    EXPECT_THAT(VerifyPlan(plan_, graph_, ToyOps()),
                StatusIs(absl::StatusCode::kInternal, HasSubstr(message)));
  }

  Graph graph_;
  ValueId w_, v_, y_, z_, u_;
  ExecutionPlan plan_;
};

TEST_F(VerifyResidentStepsTest, AcceptsThePlan) {
  EXPECT_THAT(VerifyPlan(plan_, graph_, ToyOps()), IsOk());
}

TEST_F(VerifyResidentStepsTest, CatchesAVariableThatIsTransient) {
  BufferOf(v_).kind = BufferKind::kTransient;
  ExpectFault("v is resident, but its buffer is not of that kind");
}

TEST_F(VerifyResidentStepsTest, CatchesAVariableThatIsConstant) {
  BufferOf(w_).kind = BufferKind::kConstant;
  ExpectFault("w is resident, but its buffer is not of that kind");
}

TEST_F(VerifyResidentStepsTest, CatchesAVariableOfAnotherSize) {
  BufferOf(v_).bytes -= 1;
  ExpectFault("the buffer of v:0 has 1023 bytes, not 1024");
}

TEST_F(VerifyResidentStepsTest, CatchesTwoVariablesInOneBuffer) {
  Give(v_, w_);
  ExpectFault("w and v have the same buffer");
}

TEST_F(VerifyResidentStepsTest, CatchesAVariableThatIsComputedIn) {
  Give(y_, w_);
  ExpectFault("output 0 has the bytes of w:0, which is resident");
}

TEST_F(VerifyResidentStepsTest, CatchesAValueInAVariableThatIsReadNoMore) {
  Give(z_, v_);  // no step reads v after z, but the next training step does
  EXPECT_FALSE(VerifyPlan(plan_, graph_, ToyOps()).ok());
}

TEST_F(VerifyResidentStepsTest, CatchesAnUpdateOfAConstant) {
  OpRegistry ops = ToyOps();
  OpDef constant = *ops.Find(kVariable);
  constant.name = kConst;
  ops.Add(std::move(constant));
  Graph graph;
  const TensorType type = {.dtype = DType::kUInt8, .shape = {64}};
  const ValueId c = graph.output(graph.AddNode(
      {.name = "c", .op = std::string(kConst), .outputs = {type}}));
  const ValueId u = graph.output(graph.AddNode(
      {.name = "u", .op = "Update", .inputs = {c, c}, .outputs = {type}}));
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, MakeSchedule(graph, ops, {}));
  CompileOptions options = {.fetches = {u}};
  AddResidents(graph, ops, schedule, "", options.residents);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan,
                       CompilePlan(graph, ops, schedule, options));
  EXPECT_THAT(VerifyPlan(plan, graph, ops),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("overwrites the constant c:0")));
}

// An op that may compute in place only if its attributes say so.
TEST(VerifyStepsTest, CatchesAnInPlaceComputationThatIsNotLegal) {
  OpRegistry ops = ToyOps();
  OpDef picky = *ops.Find("InPlace");
  picky.name = "Picky";
  picky.in_place_legal = [](const OpContext&) { return false; };
  ops.Add(std::move(picky));
  Graph graph;
  const TensorType type{.dtype = DType::kUInt8, .shape = {1024}};
  const NodeId x = graph.AddNode({.name = "x", .op = "F", .outputs = {type}});
  const NodeId y = graph.AddNode({.name = "y",
                                  .op = "Picky",
                                  .inputs = {graph.output(x)},
                                  .outputs = {type}});
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, MakeSchedule(graph, ops, {}));
  ASSERT_OK_AND_ASSIGN(ExecutionPlan plan,
                       CompilePlan(graph, ops, schedule, {}));
  ASSERT_THAT(VerifyPlan(plan, graph, ops), IsOk());
  const BufferId shared = plan.buffer_of[graph.output(x)];
  plan.buffer_of[graph.output(y)] = shared;
  StepNamed(plan, graph, "y").outputs[0] = shared;
  EXPECT_THAT(VerifyPlan(plan, graph, ops),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("has the bytes of another value")));
}

}  // namespace
}  // namespace spillway
