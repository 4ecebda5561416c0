#include "executor/plan/verify_plan.h"

#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "tests/executor/plan/plan_cases.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainGraph;
using testing::Compile;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;
using testing::ToyOps;

// A planted fault: a change of a valid plan, and the expected error.
struct Mutation {
  std::string name;
  std::function<void(ExecutionPlan&, const Graph&)> damage;
  std::string message;
};

StepId StepOf(const ExecutionPlan& plan, const Graph& graph,
              std::string_view name) {
  for (const StepId step : plan.steps.ids()) {
    if (graph.node(plan.steps[step].node).name == name) return step;
  }
  return {};
}

Step& Find(ExecutionPlan& plan, const Graph& graph, std::string_view name) {
  return plan.steps[StepOf(plan, graph, name)];
}

Buffer& Output(ExecutionPlan& plan, const Graph& graph, std::string_view name) {
  return plan.buffers[Find(plan, graph, name).outputs[0]];
}

std::vector<Mutation> Mutations() {
  return {
      {"a reader no longer waits for its swap-in",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "b1").waits.clear();
       },
       "may start before"},
      {"a swap-in no longer waits for its swap-out",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "in1").waits.clear();
       },
       "may start before"},
      {"a swap-out no longer waits for its producer",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "out3").waits.clear();
       },
       "may start before"},
      {"the bytes of a copy under way are taken",
       [](ExecutionPlan& plan, const Graph&) {
         for (Step& step : plan.steps) {
           if (step.lane != Lane::kCompute) continue;
           std::erase_if(step.waits, [&](StepId wait) {
             return plan.steps[wait].lane == Lane::kCopyOut;
           });
         }
       },
       "share bytes but are not ordered"},
      {"two live buffers overlap",
       [](ExecutionPlan& plan, const Graph& graph) {
         Output(plan, graph, "f8").offset = Output(plan, graph, "f7").offset;
       },
       "share bytes but are not ordered"},
      {"two live buffers overlap by one block",
       [](ExecutionPlan& plan, const Graph& graph) {
         Buffer& b = Output(plan, graph, "b8");
         b.offset = Output(plan, graph, "f8").offset + 768;
         plan.device_bytes = 1_MiB;
       },
       "share bytes but are not ordered"},
      {"two host buffers overlap",
       [](ExecutionPlan& plan, const Graph& graph) {
         Output(plan, graph, "out2").offset =
             Output(plan, graph, "out1").offset;
       },
       "share bytes but are not ordered"},
      {"a buffer sticks out of the arena",
       [](ExecutionPlan& plan, const Graph&) { plan.device_bytes -= 1; },
       "is not inside its"},
      {"a buffer is not aligned",
       [](ExecutionPlan& plan, const Graph& graph) {
         Output(plan, graph, "f1").offset += 4;
       },
       "is not inside its"},
      {"a buffer is smaller than its value",
       [](ExecutionPlan& plan, const Graph& graph) {
         Output(plan, graph, "f1").bytes -= 1;
       },
       "bytes, not"},
      {"a read comes before the write",
       [](ExecutionPlan& plan, const Graph& graph) {
         std::swap(Find(plan, graph, "f2"), Find(plan, graph, "f3"));
       },
       "may start before"},
      {"a step waits for a later one",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "f2").waits.push_back(StepOf(plan, graph, "b1"));
       },
       "not before it"},
      {"a step reads another value's buffer",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "f3").inputs = Find(plan, graph, "f2").inputs;
       },
       "uses another buffer"},
      {"a step is missing",
       [](ExecutionPlan& plan, const Graph& graph) {
         testing::RemoveStep(plan, StepOf(plan, graph, "f4"));
       },
       "which is not in the plan"},
      {"a node runs twice",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "f3") = Find(plan, graph, "f2");
       },
       "runs twice"},
      {"a fetched value is not computed",
       [](ExecutionPlan& plan, const Graph& graph) {
         const StepId last(plan.steps.size() - 1);
         plan.fetches = graph.node(plan.steps[last].node).outputs;
         plan.steps.resize(last.index());
       },
       "is fetched, but is not in the plan"},
      {"an output has the bytes of the step's input",
       [](ExecutionPlan& plan, const Graph& graph) {
         const BufferId buffer = Find(plan, graph, "f8").outputs[0];
         Find(plan, graph, "b8").outputs[0] = buffer;
         Find(plan, graph, "b7").inputs[1] = buffer;
         plan.buffer_of[*graph.FindValue("b8")] = buffer;
       },
       "has the bytes of another value"},
      {"a kernel is taken for an alias",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "f5").kind = StepKind::kAlias;
       },
       "(f5) is of kind 1, but a F is of kind 0"},
      {"a swap-in is run as a kernel",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "in1").kind = StepKind::kCompute;
       },
       "(in1) is of kind 0, but a SwapIn is of kind 4"},
      {"a swap-out copies the other way",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "out1").kind = StepKind::kSwapIn;
       },
       "(out1) is of kind 4"},
      {"a copy is on the compute lane",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "out1").lane = Lane::kCompute;
       },
       "(out1) is on lane 0, where a SwapOut does not run"},
      {"a kernel is on a copy lane",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "b1").lane = Lane::kCopyIn;
       },
       "(b1) is on lane 2"},
      {"a lane that there is not",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "f1").lane = static_cast<Lane>(kNumLanes);
       },
       "(f1) is on lane 5"},
      {"a device node on the host's lane",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "f1").lane = Lane::kHost;
       },
       "(f1) is on lane 3"},
      {"a buffer that there is not",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "f2").inputs[0] = BufferId(plan.buffers.size());
       },
       "a buffer that is not there"},
      {"a node that there is not",
       [](ExecutionPlan& plan, const Graph& graph) {
         Find(plan, graph, "f2").node = NodeId(graph.num_nodes());
       },
       "has a node or a buffer that is not there"},
      {"a fetch of no value",
       [](ExecutionPlan& plan, const Graph& graph) {
         plan.fetches = {ValueId(graph.num_values())};
       },
       "is fetched, but is not in the plan"},
      {"scratch is a value's buffer",
       [](ExecutionPlan& plan, const Graph& graph) {
         Step& step = Find(plan, graph, "f5");
         step.workspace = step.outputs[0];
       },
       "its scratch is a value"},
      {"a value is scratch",
       [](ExecutionPlan& plan, const Graph& graph) {
         Output(plan, graph, "f5").kind = BufferKind::kWorkspace;
       },
       "lies in scratch"},
      {"a value lies in the wrong memory",
       [](ExecutionPlan& plan, const Graph& graph) {
         Output(plan, graph, "out1").space = Space::kDevice;
       },
       "wrong memory space"},
  };
}

TEST(VerifyPlanTest, CatchesEveryPlantedFault) {
  const Graph graph = ChainGraph(8, 1_KiB, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan good, Compile(graph));
  ASSERT_THAT(VerifyPlan(good, graph, ToyOps()), IsOk());
  for (const Mutation& mutation : Mutations()) {
    SCOPED_TRACE(mutation.name);
    ExecutionPlan plan = good;
    mutation.damage(plan, graph);
    EXPECT_THAT(
        VerifyPlan(plan, graph, ToyOps()),
        StatusIs(absl::StatusCode::kInternal, HasSubstr(mutation.message)));
  }
}

// Every wait of a plan is needed: the plan without any one of them is invalid.
TEST(VerifyPlanTest, CatchesEveryDroppedWait) {
  const Graph graph = ChainGraph(9, 1_KiB, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan good, Compile(graph));
  int dropped = 0;
  for (const StepId step : good.steps.ids()) {
    for (size_t w = 0; w < good.steps[step].waits.size(); ++w) {
      ExecutionPlan plan = good;
      auto& waits = plan.steps[step].waits;
      waits.erase(waits.begin() + static_cast<int64_t>(w));
      EXPECT_FALSE(VerifyPlan(plan, graph, ToyOps()).ok())
          << "step " << step.value() << " wait " << w;
      ++dropped;
    }
  }
  EXPECT_GT(dropped, 20);
}

TEST(VerifyPlanTest, CatchesAFetchedBufferThatIsReused) {
  const Graph graph = ChainGraph(5, 1_KiB, false);
  ASSERT_OK_AND_ASSIGN(const ValueId last, graph.FindValue("b1"));
  ASSERT_OK_AND_ASSIGN(ExecutionPlan plan, Compile(graph, {.fetches = {last}}));
  ASSERT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
  // Ten values in the space of six: the bytes of some are reused.
  int reused = 0;
  for (const ValueId value : graph.values().ids()) {
    plan.fetches = {last, value};
    const absl::Status status = VerifyPlan(plan, graph, ToyOps());
    if (status.ok()) continue;
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal,
                                 HasSubstr("share bytes but are not ordered")));
    ++reused;
  }
  EXPECT_GE(reused, 4);
}

// Two buffers take over a's bytes, one half each: `feed`, on another lane, must
// wait for a's reader whichever half it gets.
//
//   2 KiB +-------+
//         |       | feed |
//   1 KiB |   a   +------+
//         |       |  b   |
//       0 +-------+------+--> steps
TEST(VerifyPlanTest, RemembersTheHalfThatWasNotTakenOver) {
  Graph graph;
  const auto add = [&](std::string name, std::string_view op, int64_t bytes,
                       std::vector<ValueId> inputs) {
    return graph.output(graph.AddNode(
        {.name = std::move(name),
         .op = std::string(op),
         .inputs = std::move(inputs),
         .outputs = {{.dtype = DType::kUInt8, .shape = {bytes}}}}));
  };
  const ValueId a = add("a", "F", 2048, {});
  const ValueId reader = add("reader", "F", 1024, {a});
  const ValueId b = add("b", "F", 1024, {reader});
  const ValueId feed = add("feed", kPlaceholder, 1024, {});
  IdMap<NodeId, int32_t> preference(graph.num_nodes(), 0);
  preference[graph.value(feed).producer] = 1;  // last
  const OpRegistry ops = ToyOps();
  ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                       MakeSchedule(graph, ops, {}, preference));
  ASSERT_OK_AND_ASSIGN(ExecutionPlan plan,
                       CompilePlan(graph, ops, schedule, {}));
  plan.device_bytes = 4_KiB;
  plan.buffers[plan.buffer_of[a]].offset = 0;
  plan.buffers[plan.buffer_of[reader]].offset = 2_KiB;
  for (const int64_t half : {0_KiB, 1_KiB}) {
    SCOPED_TRACE(half);
    plan.buffers[plan.buffer_of[feed]].offset = half;
    plan.buffers[plan.buffer_of[b]].offset = 1_KiB - half;
    Find(plan, graph, "feed").waits = {StepOf(plan, graph, "reader")};
    EXPECT_THAT(VerifyPlan(plan, graph, ops), IsOk());
    Find(plan, graph, "feed").waits.clear();
    EXPECT_THAT(VerifyPlan(plan, graph, ops),
                StatusIs(absl::StatusCode::kInternal,
                         HasSubstr("a:0 and feed:0 share bytes")));
  }
}

TEST(VerifyPlanTest, CatchesAnAliasWithBytesOfItsOwn) {
  Graph graph;
  const TensorType type{.dtype = DType::kUInt8, .shape = {1024}};
  const NodeId x = graph.AddNode({.name = "x", .op = "F", .outputs = {type}});
  const NodeId y = graph.AddNode({.name = "y",
                                  .op = "Alias",
                                  .inputs = {graph.output(x)},
                                  .outputs = {type}});
  ASSERT_OK_AND_ASSIGN(ExecutionPlan plan, Compile(graph));
  ASSERT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
  Buffer other = plan.buffers[plan.buffer_of[graph.output(x)]];
  other.offset = 1_KiB;
  plan.device_bytes = 2_KiB;
  plan.buffer_of[graph.output(y)] = plan.buffers.push_back(other);
  Find(plan, graph, "y").outputs[0] = plan.buffer_of[graph.output(y)];
  EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("is not its input's bytes")));
}

TEST(VerifyPlanTest, CatchesAnOverwriteOfAValueThatIsStillRead) {
  Graph graph;
  const TensorType type{.dtype = DType::kUInt8, .shape = {1024}};
  const NodeId x = graph.AddNode({.name = "x", .op = "F", .outputs = {type}});
  const NodeId y = graph.AddNode({.name = "y",
                                  .op = "InPlace",
                                  .inputs = {graph.output(x)},
                                  .outputs = {type}});
  graph.AddNode({.name = "z",
                 .op = "F",
                 .inputs = {graph.output(x), graph.output(y)},
                 .outputs = {type}});
  ASSERT_OK_AND_ASSIGN(ExecutionPlan plan, Compile(graph));
  // Computes y in place although z reads x.
  const BufferId shared = plan.buffer_of[graph.output(x)];
  plan.buffer_of[graph.output(y)] = shared;
  Find(plan, graph, "y").outputs[0] = shared;
  Find(plan, graph, "z").inputs[1] = shared;
  EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("overwrote it")));
}

// x and y may each take over a's bytes, but not both of them.
TEST(VerifyPlanTest, CatchesTwoOutputsThatOverwriteOneInput) {
  Graph graph;
  const TensorType type{.dtype = DType::kUInt8, .shape = {1024}};
  const ValueId a =
      graph.output(graph.AddNode({.name = "a", .op = "F", .outputs = {type}}));
  const ValueId b =
      graph.output(graph.AddNode({.name = "b", .op = "F", .outputs = {type}}));
  const NodeId both = graph.AddNode({.name = "both",
                                     .op = "InPlaceBoth",
                                     .inputs = {a, b},
                                     .outputs = {type, type}});
  const ValueId x = graph.output(both, 0);
  const ValueId y = graph.output(both, 1);
  ASSERT_OK_AND_ASSIGN(ExecutionPlan plan, Compile(graph));
  ASSERT_EQ(plan.buffer_of[x], plan.buffer_of[b]);
  ASSERT_EQ(plan.buffer_of[y], plan.buffer_of[a]);
  ASSERT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
  plan.buffer_of[x] = plan.buffer_of[a];
  Find(plan, graph, "both").outputs[0] = plan.buffer_of[a];
  EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("(both): output 0 has the bytes of another")));
}

// x is fetched; y = InPlace(x) takes over its bytes nevertheless.
TEST(VerifyPlanTest, CatchesAFetchedValueThatIsOverwritten) {
  Graph graph;
  const TensorType type{.dtype = DType::kUInt8, .shape = {1024}};
  const ValueId x =
      graph.output(graph.AddNode({.name = "x", .op = "F", .outputs = {type}}));
  const ValueId y = graph.output(graph.AddNode(
      {.name = "y", .op = "InPlace", .inputs = {x}, .outputs = {type}}));
  ASSERT_OK_AND_ASSIGN(ExecutionPlan plan, Compile(graph, {.fetches = {y}}));
  ASSERT_EQ(plan.buffer_of[x], plan.buffer_of[y]);
  ASSERT_THAT(VerifyPlan(plan, graph, ToyOps()), IsOk());
  plan.fetches = {x, y};
  EXPECT_THAT(VerifyPlan(plan, graph, ToyOps()),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("x:0 is fetched after step 1 (y) overwrote")));
}

}  // namespace
}  // namespace spillway
