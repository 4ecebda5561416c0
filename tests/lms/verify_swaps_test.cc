#include "lms/verify_swaps.h"

#include <functional>

#include "lms/apply_swap_plan.h"
#include "lms/lms.h"
#include "tests/lms/chain_e1.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainE1;
using testing::E1Options;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

// The edited graph and the plan of the edit.
struct E1Edit {
  Graph graph = ChainE1();
  SwapPlan plan = *PlanSwaps(E1Options(), ChainE1());

  E1Edit() { ApplySwapPlan(plan, graph); }
  absl::Status Verify(bool needs_triggers = false) const {
    return VerifySwaps(
        ChainE1(), graph,
        {.plan = plan, .every_swap_in_has_a_trigger = needs_triggers});
  }
};

struct Damage {
  std::string name;
  std::function<void(Graph&)> apply;
  std::string message;
};

NodeId Find(const Graph& graph, std::string_view name) {
  return *graph.FindNode(name);
}

ValueId Output(const Graph& graph, std::string_view name) {
  return graph.output(Find(graph, name));
}

std::vector<Damage> Damages() {
  const TensorType type{.dtype = DType::kFloat32, .shape = {16, 16}};
  return {
      {"a reader reads another tensor",
       [](Graph& g) {
         g.SetInput({Find(g, "opt/B1"), 1}, Output(g, "lms/swapin_F2_0"));
       },
       "input 1 of opt/B1"},
      {"input slots are exchanged",
       [](Graph& g) {
         const ValueId a = g.node(Find(g, "opt/B1")).inputs[0];
         const ValueId b = g.node(Find(g, "opt/B1")).inputs[1];
         g.SetInput({Find(g, "opt/B1"), 0}, b);
         g.SetInput({Find(g, "opt/B1"), 1}, a);
       },
       "input 0 of opt/B1"},
      {"a device node reads the host copy",
       [](Graph& g) {
         g.SetInput({Find(g, "opt/B1"), 1}, Output(g, "lms/swapout_F1_0"));
       },
       "lms/swapout_F1_0 must be read by swap-ins"},
      {"a swap-in is left without a reader",
       [](Graph& g) {
         g.SetInput({Find(g, "opt/B1"), 1}, Output(g, "F1"));
       },
       "lms/swapin_F1_0 must have a reader"},
      {"a swap-in reads the device tensor",
       [](Graph& g) {
         g.SetInput({Find(g, "lms/swapin_F1_0"), 0}, Output(g, "F1"));
       },
       "swap"},
      {"a control edge between original nodes",
       [](Graph& g) { g.AddControlEdge(Find(g, "F1"), Find(g, "opt/B2")); },
       "control inputs of opt/B2"},
      {"a node waits for a swap-out",
       [](Graph& g) {
         g.AddControlEdge(Find(g, "lms/swapout_F1_0"), Find(g, "F3"));
       },
       "control inputs of F3"},
      {"a swap-in gets a second trigger",
       [](Graph& g) {
         g.AddControlEdge(Find(g, "opt/B3"), Find(g, "lms/swapin_F1_0"));
       },
       "lms/swapin_F1_0 is not between"},
      {"the swap-ins of two readers are exchanged with their values",
       [](Graph& g) {
         g.SetInput({Find(g, "lms/swapin_F1_0"), 0},
                    Output(g, "lms/swapout_F2_0"));
         g.SetInput({Find(g, "lms/swapin_F2_0"), 0},
                    Output(g, "lms/swapout_F1_0"));
       },
       "input 1 of opt/B2"},
      {"a swap-in reads the host copy of another tensor",
       [](Graph& g) {
         g.SetInput({Find(g, "lms/swapout_F1_0"), 0}, Output(g, "F2"));
       },
       "input 1 of opt/B1"},
      {"a swap-out reads a swap-in",
       [](Graph& g) {
         g.SetInput({Find(g, "lms/swapout_F4_0"), 0},
                    Output(g, "lms/swapin_F3_0"));
       },
       "cycle"},
      {"a second swap nobody planned",
       [type](Graph& g) {
         const NodeId out = g.AddNode({.name = "extra_out",
                                       .op = "SwapOut",
                                       .inputs = {Output(g, "F2")},
                                       .outputs = {type},
                                       .placement = Placement::kHost});
         const NodeId in = g.AddNode({.name = "extra_in",
                                      .op = "SwapIn",
                                      .inputs = {g.output(out)},
                                      .outputs = {type},
                                      .placement = Placement::kHost});
         g.SetInput({Find(g, "F3"), 0}, g.output(in));
       },
       "adds 8 nodes, but 10"},
      {"a control edge to a swap-out",
       [](Graph& g) {
         g.AddControlEdge(Find(g, "F2"), Find(g, "lms/swapout_F1_0"));
       },
       "has a control input"},
      {"a swap triggered by a swap",
       [](Graph& g) {
         g.AddControlEdge(Find(g, "lms/swapout_F2_0"),
                          Find(g, "lms/swapin_F1_0"));
       },
       "the trigger of lms/swapin_F1_0 is a swap"},
      {"a cycle through a trigger",
       [](Graph& g) {
         g.AddControlEdge(Find(g, "opt/U"), Find(g, "lms/swapin_F1_0"));
       },
       "cycle"},
      {"a foreign node",
       [type](Graph& g) {
         g.AddNode({.name = "extra", .op = "Op", .outputs = {type}});
       },
       "added extra of op Op"},
      {"a swap-out nobody reads",
       [type](Graph& g) {
         g.AddNode({.name = "extra",
                    .op = "SwapOut",
                    .inputs = {Output(g, "F1")},
                    .outputs = {type},
                    .placement = Placement::kHost});
       },
       "extra must be read by swap-ins"},
      {"a swap that changes the type",
       [](Graph& g) {
         g.AddNode({.name = "extra",
                    .op = "SwapOut",
                    .inputs = {Output(g, "F1")},
                    .outputs = {{.dtype = DType::kInt32, .shape = {16, 16}}},
                    .placement = Placement::kHost});
       },
       "of the same type"},
      {"a swap on the device",
       [type](Graph& g) {
         g.AddNode({.name = "extra",
                    .op = "SwapOut",
                    .inputs = {Output(g, "F1")},
                    .outputs = {type}});
       },
       "on the host"},
  };
}

TEST(VerifySwapsTest, AcceptsAnEdit) { EXPECT_THAT(E1Edit().Verify(), IsOk()); }

TEST(VerifySwapsTest, AcceptsAnUnchangedGraph) {
  EXPECT_THAT(VerifySwaps(ChainE1(), ChainE1(), {.plan = {}}), IsOk());
}

TEST(VerifySwapsTest, CatchesEveryPlantedDamage) {
  for (const Damage& damage : Damages()) {
    SCOPED_TRACE(damage.name);
    E1Edit edit;
    damage.apply(edit.graph);
    EXPECT_THAT(edit.Verify(), StatusIs(absl::StatusCode::kInternal,
                                        HasSubstr(damage.message)));
  }
}

TEST(VerifySwapsTest, CatchesAMissingNode) {
  EXPECT_THAT(VerifySwaps(E1Edit().graph, ChainE1(), {.plan = {}}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("removed")));
}

// As in the original, the last swap-in of the chain has no trigger.
TEST(VerifySwapsTest, ATriggerMayBeMissingOnlyWhereThatIsAllowed) {
  EXPECT_THAT(E1Edit().Verify(/*needs_triggers=*/true),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("lms/swapin_F4_0 has no trigger")));
}

TEST(VerifySwapsTest, AcceptsTheWaitersOrdersAndTriggersOfThePlan) {
  E1Edit edit;
  edit.plan.swaps[0].waiters = {Find(edit.graph, "F3")};
  edit.plan.swaps[0].swap_ins[0].triggers.push_back(Find(edit.graph, "opt/B3"));
  edit.plan.orders = {
      {.before = Find(edit.graph, "F1"), .after = Find(edit.graph, "opt/B4")}};
  edit.graph = ChainE1();
  ApplySwapPlan(edit.plan, edit.graph);
  EXPECT_THAT(edit.Verify(), IsOk());
}

struct Lie {
  std::string name;
  std::function<void(SwapPlan&)> apply;
  std::string message;
};

// The graph is edited as before, but the plan differs.
TEST(VerifySwapsTest, CatchesEveryDifferenceFromThePlan) {
  const NodeId f2(1);
  const NodeId b3(5);
  const std::vector<Lie> lies = {
      {"a waiter", [&](SwapPlan& p) { p.swaps[0].waiters = {f2}; },
       "control inputs of F2"},
      {"an order",
       [&](SwapPlan& p) { p.orders = {{.before = f2, .after = b3}}; },
       "control inputs of opt/B3"},
      {"another trigger",
       [&](SwapPlan& p) { p.swaps[0].swap_ins[0].triggers = {b3}; },
       "lms/swapin_F1_0 is not"},
      {"one more trigger",
       [&](SwapPlan& p) { p.swaps[0].swap_ins[0].triggers.push_back(b3); },
       "lms/swapin_F1_0 is not"},
      {"one more reader",
       [&](SwapPlan& p) { p.swaps[1].swap_ins[0].readers.push_back(b3); },
       "lms/swapin_F2_0 is not"},
      {"another value",
       [&](SwapPlan& p) { p.swaps[0].value = p.swaps[1].value; },
       "lms/swapout_F1_0 is not"},
      {"one swap less", [&](SwapPlan& p) { p.swaps.pop_back(); },
       "adds 6 nodes, but 8"},
      {"one swap-in less", [&](SwapPlan& p) { p.swaps[0].swap_ins.clear(); },
       "adds 7 nodes, but 8"},
  };
  for (const Lie& lie : lies) {
    SCOPED_TRACE(lie.name);
    E1Edit edit;
    lie.apply(edit.plan);
    EXPECT_THAT(edit.Verify(),
                StatusIs(absl::StatusCode::kInternal, HasSubstr(lie.message)));
  }
}

}  // namespace
}  // namespace spillway
