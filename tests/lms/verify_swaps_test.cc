#include "lms/verify_swaps.h"

#include <functional>

#include "lms/apply_swap_plan.h"
#include "lms/lms.h"
#include "lms/plan_swaps_v1.h"
#include "tests/lms/chain_e1.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainE1;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

Graph EditedE1() {
  Graph graph = ChainE1();
  const auto report = ApplyLms(
      {.mode = LmsMode::kV1, .compat = true, .optimizer_scopes = {"opt"}},
      graph);
  EXPECT_THAT(report, IsOk());
  return graph;
}

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

TEST(VerifySwapsTest, AcceptsAnEdit) {
  EXPECT_THAT(VerifySwaps(ChainE1(), EditedE1()), IsOk());
}

TEST(VerifySwapsTest, AcceptsAnUnchangedGraph) {
  EXPECT_THAT(VerifySwaps(ChainE1(), ChainE1()), IsOk());
}

TEST(VerifySwapsTest, CatchesEveryPlantedDamage) {
  for (const Damage& damage : Damages()) {
    SCOPED_TRACE(damage.name);
    Graph graph = EditedE1();
    damage.apply(graph);
    EXPECT_THAT(
        VerifySwaps(ChainE1(), graph),
        StatusIs(absl::StatusCode::kInternal, HasSubstr(damage.message)));
  }
}

TEST(VerifySwapsTest, CatchesAMissingNode) {
  EXPECT_THAT(VerifySwaps(EditedE1(), ChainE1()),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("removed")));
}

}  // namespace
}  // namespace spillway
