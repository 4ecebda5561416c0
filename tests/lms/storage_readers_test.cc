// Aliases (Identity, Reshape) in edits of both versions: bytes are swapped
// once, under the name of their root, and all their readers count.
#include "lms/storage_readers.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "executor/plan/compile.h"
#include "executor/plan/lifetimes.h"
#include "executor/plan/lower.h"
#include "fmt/format.h"
#include "graph/order/schedule.h"
#include "graph/well_known_ops.h"
#include "lms/apply_swap_plan.h"
#include "lms/lms.h"
#include "tests/support/random_graph.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::RandomTrainingGraph;
using ::testing::SizeIs;
using testing::StatusIs;

using testing::kInternal;

// Builds nodes by name, each with one output of 1 KiB.
class Net {
 public:
  Net& Add(const std::string& name, const std::vector<std::string>& inputs,
           std::string op = "Op") {
    NodeSpec spec{.name = name, .op = std::move(op)};
    for (const std::string& input : inputs) {
      spec.inputs.push_back(*graph_.FindValue(input));
    }
    spec.outputs = {{.dtype = DType::kFloat32, .shape = {16, 16}}};
    graph_.AddNode(spec);
    return *this;
  }
  Graph Take() && { return std::move(graph_); }

 private:
  Graph graph_{"net"};
};

//   F1 -> A1 -> F2 -> F3 -> F4      A1: another name of F1's bytes
//          |     |     |     |
//         B1 <- B2 <- B3 <- B4      `last` reads them after B1
Graph ChainWithAlias(const std::string& last) {
  return std::move(Net()
                       .Add("F1", {})
                       .Add("A1", {"F1"}, "Identity")
                       .Add("F2", {"A1"})
                       .Add("F3", {"F2"})
                       .Add("F4", {"F3"})
                       .Add("opt/B4", {"F4"})
                       .Add("opt/B3", {"opt/B4", "F3"})
                       .Add("opt/B2", {"opt/B3", "F2"})
                       .Add("opt/B1", {"opt/B2", "A1"})
                       .Add("opt/C1", {"opt/B1", last})
                       .Add("opt/U", {"opt/C1"}))
      .Take();
}

LmsOptions Options(LmsMode mode) {
  LmsOptions options{.mode = mode};
  options.v1.optimizer_scopes = {"opt"};
  options.v2.swapout_threshold = 2;
  options.v2.swapin_ahead = 1;
  options.v2.swapin_groupby = 0;
  return options;
}

std::vector<std::string> NodeNames(const std::vector<NodeId>& ids,
                                   const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : ids) names.push_back(graph.node(id).name);
  return names;
}

// The swap of `tensor`; null if it is not swapped.
const Swap* FindSwap(const SwapPlan& plan, const Graph& graph,
                     const std::string& tensor) {
  for (const Swap& swap : plan.swaps) {
    if (graph.ValueName(swap.value) == tensor) return &swap;
  }
  return nullptr;
}

class BothVersions : public ::testing::TestWithParam<LmsMode> {
 protected:
  static SwapPlan Plan(const Graph& graph, bool compat = false) {
    LmsOptions options = Options(GetParam());
    options.compat = compat;
    return *PlanSwaps(options, graph);
  }
};

TEST_P(BothVersions, AReaderOfAnAliasReadsTheAliasOfTheCopy) {
  Graph graph = ChainWithAlias("A1");
  const SwapPlan plan = Plan(graph);
  EXPECT_EQ(FindSwap(plan, graph, "A1:0"), nullptr);
  const Swap* swap = FindSwap(plan, graph, "F1:0");
  ASSERT_NE(swap, nullptr);
  ASSERT_THAT(swap->swap_ins, SizeIs(2));
  for (const SwapIn& swap_in : swap->swap_ins) {
    EXPECT_THAT(NodeNames(swap_in.aliases, graph), ElementsAre("A1"));
  }

  ASSERT_THAT(ApplyLms(Options(GetParam()), graph), IsOk());
  for (const char* reader : {"opt/B1", "opt/C1"}) {
    const ValueId read = graph.node(*graph.FindNode(reader)).inputs[1];
    EXPECT_EQ(graph.producer(read).op, "Identity");
    EXPECT_THAT(graph.producer(read).name, HasSubstr("lms/alias_A1"));
    const Node& copy = graph.producer(graph.producer(read).inputs[0]);
    EXPECT_EQ(copy.op, kSwapIn);
    EXPECT_EQ(graph.producer(copy.inputs[0]).name, "lms/swapout_F1_0");
  }
  EXPECT_EQ(graph.ValueName(graph.node(*graph.FindNode("F2")).inputs[0]),
            "A1:0");
}

TEST_P(BothVersions, BytesThatAreReadByTwoNamesLeaveOnce) {
  const Graph graph = ChainWithAlias("F1");
  const SwapPlan plan = Plan(graph);
  EXPECT_EQ(FindSwap(plan, graph, "A1:0"), nullptr);
  const Swap* swap = FindSwap(plan, graph, "F1:0");
  ASSERT_NE(swap, nullptr);
  std::map<std::string, std::vector<std::string>> aliases;
  for (const SwapIn& swap_in : swap->swap_ins) {
    ASSERT_THAT(swap_in.readers, SizeIs(1));
    aliases[graph.node(swap_in.readers[0]).name] =
        NodeNames(swap_in.aliases, graph);
  }
  EXPECT_THAT(aliases, SizeIs(2));
  EXPECT_THAT(aliases["opt/B1"], ElementsAre("A1"));
  EXPECT_THAT(aliases["opt/C1"], IsEmpty());
}

// P's bytes stay for `early`, which reads them through an alias, until `late`
// reads them; a swap-in for `late` alone would be a second copy.
TEST_P(BothVersions, AnAliasThatIsReadInTheGapKeepsTheBytes) {
  const Graph graph = std::move(Net()
                                    .Add("F1", {})
                                    .Add("P", {"F1"})
                                    .Add("flat", {"P"}, "Identity")
                                    .Add("D", {"flat"})
                                    .Add("L", {"D"})
                                    .Add("opt/dL", {"L"})
                                    .Add("opt/early", {"opt/dL", "flat"})
                                    .Add("opt/late", {"opt/early", "P"})
                                    .Add("opt/F1", {"opt/late", "F1"})
                                    .Add("opt/U", {"opt/F1"}))
                          .Take();
  EXPECT_NE(FindSwap(Plan(graph, true), graph, "P:0"), nullptr);
  const SwapPlan plan = Plan(graph);
  EXPECT_EQ(FindSwap(plan, graph, "flat:0"), nullptr);
  if (const Swap* swap = FindSwap(plan, graph, "P:0")) {
    // Both readers move, or the copy frees nothing.
    std::set<std::string> moved;
    for (const SwapIn& swap_in : swap->swap_ins) {
      for (const NodeId reader : swap_in.readers) {
        moved.insert(graph.node(reader).name);
      }
    }
    EXPECT_THAT(moved, ::testing::Contains("opt/early"));
  }
}

TEST_P(BothVersions, AReshapedVariableNeverMoves) {
  Net net;
  net.Add("w", {}, std::string(kVariable));
  net.Add("r", {"w"}, "Reshape").Add("F1", {"r"});
  net.Add("F2", {"F1"}).Add("F3", {"F2"}).Add("opt/B3", {"F3"});
  net.Add("opt/B2", {"opt/B3", "F1"}).Add("opt/B1", {"opt/B2", "r"});
  net.Add("opt/U", {"opt/B1"});
  const Graph graph = std::move(net).Take();
  const SwapPlan plan = Plan(graph);
  EXPECT_EQ(FindSwap(plan, graph, "w:0"), nullptr);
  EXPECT_EQ(FindSwap(plan, graph, "r:0"), nullptr);
  if (GetParam() == LmsMode::kV2) {
    EXPECT_NE(FindSwap(Plan(graph, true), graph, "r:0"), nullptr);
  }
}

TEST_P(BothVersions, BytesThatAreOverwrittenNeverMove) {
  const auto make = [](const std::string& op) {
    return std::move(Net()
                         .Add("F1", {})
                         .Add("F2", {"F1"})
                         .Add("F3", {"F2"})
                         .Add("F4", {"F3"})
                         .Add("opt/B4", {"F4"})
                         .Add("opt/B3", {"opt/B4", "F3"})
                         .Add("opt/B2", {"opt/B3", "F2"})
                         .Add("opt/B1", {"opt/B2", "F1"})
                         .Add("opt/W", {"F1", "opt/B1"}, op)
                         .Add("opt/U", {"opt/W"}))
        .Take();
  };
  const Graph read = make("Op");
  EXPECT_NE(FindSwap(Plan(read), read, "F1:0"), nullptr);
  const Graph written = make("AssignAdd");
  EXPECT_EQ(FindSwap(Plan(written), written, "F1:0"), nullptr);
}

TEST_P(BothVersions, AnAliasThatANodeWaitsForKeepsTheBytes) {
  Graph graph = ChainWithAlias("A1");
  const auto add = [&](std::string name, std::vector<NodeId> before) {
    return graph.AddNode({.name = std::move(name),
                          .op = "Identity",
                          .inputs = {*graph.FindValue("F1:0")},
                          .control_inputs = std::move(before),
                          .outputs = {graph.type(*graph.FindValue("F1:0"))}});
  };
  const NodeId late = add("late", {*graph.FindNode("opt/B1")});
  graph.AddControlEdge(late, *graph.FindNode("opt/C1"));
  EXPECT_EQ(FindSwap(Plan(graph), graph, "F1:0"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Lms, BothVersions,
                         ::testing::Values(LmsMode::kV1, LmsMode::kV2),
                         [](const auto& tested) {
                           return std::string(LmsModeName(tested.param));
                         });

TEST(StorageReadersTest, AChainOfAliasesIsMadeAgainInItsOrder) {
  const Graph graph = std::move(Net()
                                    .Add("x", {})
                                    .Add("a", {"x"}, "Identity")
                                    .Add("b", {"a"}, "Reshape")
                                    .Add("c", {"x"}, "Reshape")
                                    .Add("r", {"b", "c", "b"})
                                    .Add("s", {"a"}))
                          .Take();
  const StorageMap storages = StorageMap::Of(graph, StandardOps());
  const ValueId x = *graph.FindValue("x");
  const std::vector<NodeId> r = {*graph.FindNode("r")};
  const std::vector<NodeId> both = {*graph.FindNode("s"), r[0]};
  EXPECT_THAT(
      NodeNames(AliasesReadBy(graph, storages, storages.of(x), r), graph),
      ElementsAre("a", "b", "c"));
  EXPECT_THAT(
      NodeNames(AliasesReadBy(graph, storages, storages.of(x), both), graph),
      ElementsAre("a", "b", "c"));
  EXPECT_TRUE(MaySwap(storages, x));
  EXPECT_FALSE(MaySwap(storages, *graph.FindValue("a")));
  const Swap swap = {.value = x, .swap_ins = {{.readers = r}}};
  EXPECT_THAT(NodeNames(DirectReaders(graph, storages, swap), graph),
              ElementsAre("s"));
}

// --- VerifySwaps and aliases.

struct ChainEdit {
  Graph original = ChainWithAlias("F1");
  LmsOptions options = [] {
    LmsOptions o = Options(LmsMode::kV1);
    o.v1.fuse_swapins = true;
    return o;
  }();
  SwapPlan plan = *PlanSwaps(options, original);
  Graph edited = original;

  ChainEdit() { ApplySwapPlan(plan, edited); }
  absl::Status Verify() const {
    const StorageMap storages = StoragesFor(options, StandardOps(), original);
    return VerifySwaps(original, edited,
                       AllowedEditOf(options, storages, plan));
  }
  NodeId Find(const char* name) const { return *edited.FindNode(name); }
};

TEST(StorageReadersTest, AFusedWayBackServesBothNames) {
  const ChainEdit edit;
  EXPECT_THAT(edit.Verify(), IsOk());
  const Swap* swap = FindSwap(edit.plan, edit.original, "F1:0");
  ASSERT_NE(swap, nullptr);
  ASSERT_THAT(swap->swap_ins, SizeIs(1));
  EXPECT_THAT(NodeNames(swap->swap_ins[0].readers, edit.original),
              ElementsAre("opt/B1", "opt/C1"));
  EXPECT_THAT(NodeNames(swap->swap_ins[0].aliases, edit.original),
              ElementsAre("A1"));
  const Node& c1 = edit.edited.node(edit.Find("opt/C1"));
  EXPECT_EQ(edit.edited.ValueName(c1.inputs[1]), "lms/swapin_F1_0:0");
}

TEST(StorageReadersTest, VerifySwapsRefusesAnAliasOfSomethingElse) {
  ChainEdit edit;
  edit.edited.SetInput({edit.Find("lms/alias_A1"), 0},
                       edit.edited.output(edit.Find("F2")));
  EXPECT_THAT(edit.Verify(), StatusIs(kInternal, HasSubstr("lms/alias_A1")));
}

TEST(StorageReadersTest, VerifySwapsRefusesAnAliasThatDoesNotReadTheCopy) {
  ChainEdit edit;
  edit.edited.SetInput({edit.Find("lms/alias_A1"), 0},
                       edit.edited.output(edit.Find("F1")));
  EXPECT_THAT(edit.Verify(), StatusIs(kInternal, HasSubstr("the copy")));
}

TEST(StorageReadersTest, VerifySwapsRefusesAReaderThatKeepsTheOldName) {
  ChainEdit edit;
  edit.edited.SetInput({edit.Find("opt/B1"), 1},
                       edit.edited.output(edit.Find("A1")));
  EXPECT_THAT(edit.Verify(), StatusIs(kInternal, HasSubstr("lms/swapin_F1_0")));
}

TEST(StorageReadersTest, VerifySwapsRefusesAnAliasThatWaits) {
  ChainEdit edit;
  edit.edited.AddControlEdge(edit.Find("opt/B2"), edit.Find("lms/alias_A1"));
  EXPECT_THAT(edit.Verify(), StatusIs(kInternal, HasSubstr("control input")));
}

TEST(StorageReadersTest, VerifySwapsRefusesToMakeAKernelAgain) {
  ChainEdit edit;
  for (Swap& swap : edit.plan.swaps) {
    for (SwapIn& swap_in : swap.swap_ins) {
      if (!swap_in.aliases.empty()) swap_in.aliases = {edit.Find("F2")};
    }
  }
  edit.edited = edit.original;
  ApplySwapPlan(edit.plan, edit.edited);
  EXPECT_THAT(edit.Verify(), StatusIs(kInternal, HasSubstr("no pure alias")));
}

TEST(StorageReadersTest, VerifySwapsRefusesAnAliasWhereNoOpsAreKnown) {
  ChainEdit edit;
  edit.options.compat = true;
  EXPECT_THAT(edit.Verify(), StatusIs(kInternal, HasSubstr("no pure alias")));
}

absl::Status VerifySwapsOf(const std::vector<std::string>& tensors,
                           const Graph& graph) {
  SwapPlan plan;
  for (const std::string& tensor : tensors) {
    const ValueId value = *graph.FindValue(tensor);
    plan.swaps.push_back(
        {.value = value,
         .swap_ins = {{.readers = {graph.uses(value).back().node},
                       .triggers = {*graph.FindNode("opt/B2")}}}});
  }
  Graph edited = graph;
  ApplySwapPlan(plan, edited);
  const StorageMap storages = StorageMap::Of(graph, StandardOps());
  return VerifySwaps(graph, edited, {.plan = plan, .storages = &storages});
}

TEST(StorageReadersTest, VerifySwapsRefusesBytesThatMustStay) {
  const Graph chain = ChainWithAlias("F1");
  EXPECT_THAT(VerifySwapsOf({"F1:0"}, chain), IsOk());
  EXPECT_THAT(VerifySwapsOf({"A1:0"}, chain), IsOk());
  EXPECT_THAT(VerifySwapsOf({"F1:0", "A1:0"}, chain),
              StatusIs(kInternal, HasSubstr("another name")));
  Net net;
  net.Add("w", {}, std::string(kVariable)).Add("x", {"w"});
  net.Add("opt/B2", {"x"}).Add("g", {"opt/B2", "w", "x"});
  net.Add("u", {"x", "g"}, "AssignAdd").Add("h", {"g", "w"});
  const Graph graph = std::move(net).Take();
  EXPECT_THAT(VerifySwapsOf({"w:0"}, graph),
              StatusIs(kInternal, HasSubstr("resident")));
  EXPECT_THAT(VerifySwapsOf({"x:0"}, graph),
              StatusIs(kInternal, HasSubstr("overwritten")));
}

// --- Random graphs.

LmsOptions RandomOptions(LmsMode mode, std::mt19937_64& random) {
  const auto up_to = [&](uint64_t n) {
    return static_cast<int64_t>(random() % n);
  };
  LmsOptions options = Options(mode);
  options.v1.lb = up_to(5);
  options.v1.fuse_swapins = up_to(3) == 0;
  options.v1.swap_branches = up_to(3) == 0;
  options.v1.ctrld_strategy = up_to(2) == 0 ? ControlStrategy::kChainRule
                                            : ControlStrategy::kDirectOrder;
  options.v2.swapout_threshold = 1 + up_to(5);
  options.v2.swapin_ahead = 1 + up_to(4);
  options.v2.swapin_groupby = up_to(2) * up_to(6);
  options.v2.sync_mode = up_to(4);
  return options;
}

// All nodes except aliases of the original that have no readers any more.
IdMap<NodeId, bool> Needed(const Graph& original, const Graph& edited) {
  const StorageMap storages = StorageMap::Of(original, StandardOps());
  IdMap<NodeId, bool> needed(edited.num_nodes(), true);
  for (size_t i = original.num_nodes(); i-- > 0;) {
    const NodeId id(i);
    if (!storages.is_pure_alias(id)) continue;
    const bool was_read = !original.uses(original.output(id)).empty();
    const std::vector<Use>& uses = edited.uses(edited.output(id));
    needed[id] = !was_read || std::ranges::any_of(uses, [&](const Use& use) {
      return needed[use.node];
    });
  }
  return needed;
}

// The edited graph's nodes by the level of the original: copies as soon as
// possible, a recreated alias right before its first reader.
Schedule ByLevel(const Graph& original, const Graph& edited) {
  const IdMap<NodeId, int32_t> levels = *Levels(original);
  IdMap<NodeId, int32_t> preference(edited.num_nodes(), 0);
  for (size_t i = edited.num_nodes(); i-- > 0;) {
    const NodeId id(i);
    if (id.index() < original.num_nodes()) {
      preference[id] = levels[id];
      continue;
    }
    int32_t first = static_cast<int32_t>(original.num_nodes());
    for (const Use& use : edited.uses(edited.output(id))) {
      const bool is_new = use.node.index() >= original.num_nodes();
      first = std::min(first, is_new ? preference[use.node] : levels[use.node]);
    }
    preference[id] = first;
  }
  return *MakeSchedule(edited, StandardOps(), Needed(original, edited),
                       preference);
}

// In this order no node reads the swapped bytes, under any name, between the
// swap-out and the swap-in.
void ExpectBytesAreFree(const Graph& original, const Graph& edited,
                        const SwapPlan& swaps) {
  const Schedule schedule = ByLevel(original, edited);
  CompileOptions options;
  AddResidents(edited, StandardOps(), schedule, "", options.residents);
  const ExecutionPlan plan =
      LowerToSteps(edited, StandardOps(), schedule, options).plan;
  IdMap<NodeId, StepId> step_of(edited.num_nodes());
  for (const StepId id : plan.steps.ids()) step_of[plan.steps[id].node] = id;
  size_t next = original.num_nodes();
  for (const Swap& swap : swaps.swaps) {
    const BufferId buffer = plan.buffer_of[swap.value];
    const NodeId swap_out(next++);
    StepId last;
    for (const StepId id : plan.steps.ids()) {
      const Step& step = plan.steps[id];
      const bool uses =
          std::ranges::find(step.inputs, buffer) != step.inputs.end() ||
          std::ranges::find(step.outputs, buffer) != step.outputs.end();
      if (uses && step.node != swap_out) last = id;
    }
    for (size_t i = 0; i < swap.swap_ins.size(); ++i) {
      const NodeId swap_in(next++);
      EXPECT_LT(last, step_of[swap_in])
          << original.ValueName(swap.value) << " is still used by "
          << edited.node(plan.steps[last].node).name << " when "
          << edited.node(swap_in).name << " begins";
    }
  }
}

TEST_P(BothVersions, RandomEditsMoveEachStorageOnceAndFreeItsBytes) {
  size_t aliases = 0, swaps = 0;
  for (uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 random(seed);
    const Graph original = RandomTrainingGraph(
        {.seed = seed,
         .forward_nodes = 5 + static_cast<int>(random() % 20),
         .alias_probability = 0.3});
    const LmsOptions options = RandomOptions(GetParam(), random);
    ASSERT_OK_AND_ASSIGN(const SwapPlan plan, PlanSwaps(options, original));
    Graph edited = original;
    ASSERT_THAT(ApplyLms(options, edited), IsOk());
    const StorageMap storages = StorageMap::Of(original, StandardOps());
    std::set<StorageId> moved;
    for (const Swap& swap : plan.swaps) {
      EXPECT_TRUE(moved.insert(storages.id_of(swap.value)).second);
      EXPECT_EQ(storages.of(swap.value).root, swap.value);
      EXPECT_FALSE(storages.of(swap.value).is_resident);
      for (const SwapIn& swap_in : swap.swap_ins) {
        aliases += swap_in.aliases.size();
        for (const NodeId reader : swap_in.readers) {
          EXPECT_FALSE(storages.is_pure_alias(reader));
        }
      }
      ++swaps;
    }
    ExpectBytesAreFree(original, edited, plan);
  }
  EXPECT_GT(swaps, 300u);
  EXPECT_GT(aliases, 100u);
}

}  // namespace
}  // namespace spillway
