// Tests the evaluator that other tests rely on (tests/support/eval_graph.h).
#include "tests/support/eval_graph.h"

#include <vector>

#include "graph/builder/builder.h"
#include "ops/all_ops.h"
#include "tests/support/host_tensor.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::EvalGraph;
using testing::EvalState;
using ::testing::HasSubstr;
using testing::MakeHostTensor;
using testing::StatusIs;

// counter <- counter + x, in every step; y = 2 x.
struct Counter {
  Graph graph;
  ValueId x;
  ValueId y;
};

Counter MakeCounter() {
  GraphBuilder g(StandardOps());
  const Tensor x = g.Placeholder("x", DType::kFloat32, {2});
  const Tensor counter =
      g.Add(g, {.op = "Variable",
                .attributes = {{"dtype", "float32"}, {"shape", Shape{2}}},
                .name = "counter"});
  g.Add(g, {.op = "AssignAdd", .inputs = {counter, x}});
  const Tensor y = g.Add(g, {.op = "Add", .inputs = {x, x}});
  absl::StatusOr<Graph> graph = std::move(g).Build();
  EXPECT_THAT(graph, testing::IsOk());
  return {.graph = *std::move(graph), .x = x.id(), .y = y.id()};
}

TEST(EvalGraph, KeepsVariablesBetweenSteps) {
  const Counter counter = MakeCounter();
  const HostTensor x = MakeHostTensor<float>({.shape = {2}}, {1.5F, -2.0F});
  EvalState state;
  for (int step = 1; step <= 3; ++step) {
    ASSERT_OK_AND_ASSIGN(
        const auto fetched,
        EvalGraph(counter.graph, {{counter.x, x}}, {{counter.y}}, state));
    EXPECT_EQ(fetched.at(counter.y).data<float>()[0], 3);
    EXPECT_EQ(state.step, step);
    const float* count = state.variables.at("counter").data<float>();
    EXPECT_EQ(count[0], static_cast<float>(1.5 * step));
    EXPECT_EQ(count[1], static_cast<float>(-2 * step));
  }
}

TEST(EvalGraph, NamesAPlaceholderThatIsNotFed) {
  const Counter counter = MakeCounter();
  EvalState state;
  EXPECT_THAT(EvalGraph(counter.graph, {}, {{counter.y}}, state),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("x: is not fed")));
}

TEST(EvalGraph, RefusesAFeedOfAnotherType) {
  const Counter counter = MakeCounter();
  EvalState state;
  const HostTensor wrong = MakeHostTensor<float>({.shape = {1}}, {1.0F});
  EXPECT_THAT(
      EvalGraph(counter.graph, {{counter.x, wrong}}, {{counter.y}}, state),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("is float32[2]; float32[1] given")));
}

}  // namespace
}  // namespace spillway
