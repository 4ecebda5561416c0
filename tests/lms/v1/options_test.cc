// Each option of version 1 alone: its effect, and its refused values.
#include <algorithm>
#include <set>

#include "gmock/gmock.h"
#include "graph/format/json_format.h"
#include "gtest/gtest.h"
#include "lms/lms.h"
#include "tests/lms/chain_e1.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainE1;
using ::testing::Contains;
using testing::E1Options;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

// Adds nodes with one float32[16, 16] output by name.
class Builder {
 public:
  Builder& Add(const std::string& name, const std::vector<std::string>& inputs,
               const std::string& op = "Op",
               const std::vector<std::string>& after = {}) {
    NodeSpec spec = {
        .name = name,
        .op = op,
        .outputs = {{.dtype = DType::kFloat32, .shape = {16, 16}}}};
    for (const std::string& input : inputs) {
      spec.inputs.push_back(*graph_.FindValue(input));
    }
    for (const std::string& before : after) {
      spec.control_inputs.push_back(*graph_.FindNode(before));
    }
    graph_.AddNode(spec);
    return *this;
  }
  const Graph& graph() const { return graph_; }

 private:
  Graph graph_;
};

// F2, F4 and two gradient nodes read F1's value. F2 and F4 are one step ahead
// of F1; their partners are B2 and B4.
Graph SkipGraph() {
  return Builder()
      .Add("net/F1", {})
      .Add("net/F2", {"net/F1"}, "Conv")
      .Add("net/F3", {"net/F2"})
      .Add("net/F4", {"net/F3", "net/F1"})
      .Add("opt/B4", {"net/F4"})
      .Add("opt/B3", {"opt/B4", "net/F3"})
      .Add("opt/B2", {"opt/B3", "net/F2", "net/F1"})
      .Add("opt/B1", {"opt/B2", "net/F1"})
      .Add("opt/U", {"opt/B1"})
      .graph();
}

std::set<std::string> Swapped(const LmsOptions& options, const Graph& graph) {
  const auto plan = PlanSwaps(options, graph);
  EXPECT_THAT(plan, testing::IsOk());
  std::set<std::string> names;
  for (const Swap& swap : plan->swaps) {
    names.insert(graph.producer(swap.value).name);
  }
  return names;
}

// Readers of the swap-ins of `tensor`, and the trigger of each.
std::vector<std::string> SwapIns(const LmsOptions& options, const Graph& graph,
                                 const std::string& tensor) {
  const auto plan = PlanSwaps(options, graph);
  EXPECT_THAT(plan, testing::IsOk());
  std::vector<std::string> texts;
  for (const Swap& swap : plan->swaps) {
    if (graph.producer(swap.value).name != tensor) continue;
    for (const SwapIn& swap_in : swap.swap_ins) {
      std::string text;
      for (const NodeId id : swap_in.readers) text += graph.node(id).name + " ";
      text += "<-";
      for (const NodeId id : swap_in.triggers)
        text += " " + graph.node(id).name;
      texts.push_back(text);
    }
  }
  return texts;
}

TEST(V1OptionsTest, WithoutFuseSwapinsEachReaderHasItsOwn) {
  LmsOptions options = E1Options();
  options.compat = false;
  EXPECT_THAT(SwapIns(options, SkipGraph(), "net/F1"),
              ElementsAre("opt/B2 <- opt/B4", "opt/B1 <- opt/B2"));
}

TEST(V1OptionsTest, FuseSwapinsGivesAllReadersOneThatTheFirstTriggers) {
  LmsOptions options = E1Options();
  options.v1.fuse_swapins = true;
  for (const bool compat : {false, true}) {
    options.compat = compat;
    EXPECT_THAT(SwapIns(options, SkipGraph(), "net/F1"),
                ElementsAre("opt/B2 opt/B1 <- opt/B4"))
        << compat;
  }
}

// B3 runs right after the forward phase, so only the others share a swap-in.
TEST(V1OptionsTest, FusedReadersWithoutAGapReadTheDeviceCopy) {
  const Graph graph = Builder()
                          .Add("F1", {})
                          .Add("F2", {"F1"})
                          .Add("F3", {"F2"})
                          .Add("opt/B3", {"F3", "F1"})
                          .Add("opt/B2", {"opt/B3", "F2"})
                          .Add("opt/B1", {"opt/B2", "F1"})
                          .Add("opt/B0", {"opt/B1", "F1"})
                          .Add("opt/U", {"opt/B0"})
                          .graph();
  LmsOptions options = E1Options();
  options.compat = false;
  options.v1.fuse_swapins = true;
  EXPECT_THAT(SwapIns(options, graph, "F1"),
              ElementsAre("opt/B1 opt/B0 <- opt/B2"));
}

TEST(V1OptionsTest, SwapBranchesMovesFarForwardReaders) {
  LmsOptions options = E1Options();
  EXPECT_EQ(SwapIns(options, SkipGraph(), "net/F1").size(), 2u);
  options.v1.swap_branches = true;
  EXPECT_THAT(SwapIns(options, SkipGraph(), "net/F1"),
              Contains("net/F4 <- net/F2"));
}

// F2, the nearest, has order 1; F4 has order 3.
TEST(V1OptionsTest, BranchThresholdIsCountedFromTheNearestForwardReader) {
  LmsOptions options = E1Options();
  options.v1.swap_branches = true;
  for (const int64_t threshold : {0, 1, 2}) {
    options.v1.branch_threshold = threshold;
    const bool moves = threshold < 2;
    EXPECT_EQ(SwapIns(options, SkipGraph(), "net/F1").size(), moves ? 3u : 2u);
  }
}

TEST(V1OptionsTest, StartingScopeAndOpNamesAreTheSeeds) {
  LmsOptions options = E1Options();
  options.v1.starting_op_names = {"net/F3"};
  EXPECT_THAT(Swapped(options, SkipGraph()),
              UnorderedElementsAre("net/F3", "net/F4"));
  options.v1.starting_op_names.clear();
  options.v1.starting_scope = "net/F2";
  EXPECT_THAT(Swapped(options, SkipGraph()),
              UnorderedElementsAre("net/F2", "net/F3", "net/F4"));
  options.v1.starting_op_names = {"net/F1"};
  EXPECT_EQ(Swapped(options, SkipGraph()).size(), 4u);
}

TEST(V1OptionsTest, ExcludedScopesAndTypesStay) {
  LmsOptions options = E1Options();
  options.v1.excl_scopes = {"net/F3/"};  // a final slash is ignored
  EXPECT_FALSE(Swapped(options, SkipGraph()).contains("net/F3"));
  options.v1.excl_types = {"Conv"};
  EXPECT_THAT(Swapped(options, SkipGraph()),
              UnorderedElementsAre("net/F1", "net/F4"));
}

TEST(V1OptionsTest, OnlyIncludedScopesAndTypesMoveAndExclusionWins) {
  LmsOptions options = E1Options();
  options.v1.incl_types = {"Conv"};
  options.v1.incl_scopes = {"net/F1", "net/F3"};
  EXPECT_THAT(Swapped(options, SkipGraph()),
              UnorderedElementsAre("net/F1", "net/F2", "net/F3"));
  options.v1.excl_scopes = {"net/F1"};
  EXPECT_THAT(Swapped(options, SkipGraph()),
              UnorderedElementsAre("net/F2", "net/F3"));
}

TEST(V1OptionsTest, TypesThatTheOriginalNeverSwapsStay) {
  for (const char* op :
       {"Const", "Mul", "Add", "Identity", "Assign", "VariableV2", "Reshape",
        "Shape", "ShapeN", "Placeholder"}) {
    const Graph graph = Builder()
                            .Add("F1", {})
                            .Add("F2", {"F1"}, op)
                            .Add("F3", {"F2"})
                            .Add("opt/B3", {"F3"})
                            .Add("opt/B2", {"opt/B3", "F2"})
                            .Add("opt/B1", {"opt/B2", "F1"})
                            .Add("opt/U", {"opt/B1"})
                            .graph();
    EXPECT_FALSE(Swapped(E1Options(), graph).contains("F2")) << op;
  }
}

TEST(V1OptionsTest, VariablesMoveWithCompatOnly) {
  const Graph graph = Builder()
                          .Add("w", {}, "Variable")
                          .Add("F1", {"w"})
                          .Add("F2", {"F1"})
                          .Add("opt/B2", {"F2"})
                          .Add("opt/B1", {"opt/B2", "F1"})
                          .Add("opt/Bw", {"opt/B1", "w"})
                          .Add("opt/U", {"opt/Bw"})
                          .graph();
  LmsOptions options = E1Options();
  EXPECT_TRUE(Swapped(options, graph).contains("w"));
  options.compat = false;
  EXPECT_FALSE(Swapped(options, graph).contains("w"));
}

// The optimizer's scope is a name prefix in the original, a scope in ours.
TEST(V1OptionsTest, OptimizerScopesAreBeginningsOfNamesWithCompat) {
  LmsOptions options = E1Options();
  options.v1.optimizer_scopes = {"op"};
  EXPECT_EQ(Swapped(options, ChainE1()).size(), 4u);
  options.compat = false;
  EXPECT_THAT(PlanSwaps(options, ChainE1()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("F1, F2, F3, F4, opt")));
}

// F1 has no data inputs, so it waits for C, which is on no path to a gradient.
// F2 has data inputs, so it does not wait for C.
TEST(V1OptionsTest, ASeedWithoutInputsKeepsItsControlInputs) {
  const auto graph = [](bool seed_waits) {
    Builder builder;
    builder.Add("C0", {}).Add("C", {"C0"});
    using Names = std::vector<std::string>;
    return builder.Add("F1", {}, "Op", seed_waits ? Names{"C"} : Names{})
        .Add("F2", {"F1"}, "Op", seed_waits ? Names{} : Names{"C"})
        .Add("opt/B2", {"F2"})
        .Add("opt/B1", {"opt/B2", "F1"})
        .Add("opt/U", {"opt/B1"})
        .graph();
  };
  LmsOptions options = E1Options();
  options.debug_level = 1;
  const auto log = [&](bool seed_waits) {
    std::vector<std::string> texts;
    const auto plan = PlanSwaps(options, graph(seed_waits));
    EXPECT_THAT(plan, testing::IsOk());
    for (const LogLine& line : plan->log) {
      texts.push_back(line.text);
    }
    return texts;
  };
  EXPECT_THAT(log(true), Contains("[0]: ['C']"));
  EXPECT_THAT(log(true), Contains("[1]: ['F1']"));
  EXPECT_THAT(log(false), Contains("[0]: ['F1']"));
}

// Direct order would choose C; another node that reads the value through the
// same swap-in reads C.
TEST(V1OptionsTest, NoTriggerIsInAConditionalBranch) {
  const Graph graph = Builder()
                          .Add("F1", {})
                          .Add("F2", {"F1"})
                          .Add("opt/B2", {"F2"})
                          .Add("opt/cond/C", {"opt/B2"})
                          .Add("opt/D", {"opt/cond/C"})
                          .Add("opt/B1", {"opt/D", "F1"})
                          .Add("opt/U", {"opt/B1"})
                          .graph();
  LmsOptions options = E1Options();
  options.v1.ctrld_strategy = ControlStrategy::kDirectOrder;
  EXPECT_THAT(SwapIns(options, graph, "F1"), ElementsAre("opt/B1 <- opt/B2"));
}

// By its order B2 runs before B1, which reads F1, and B2 is the partner of F2.
// But B2 waits for B1 through Z, which no data from a seed reaches.
Graph HiddenOrderGraph() {
  return Builder()
      .Add("F1", {})
      .Add("F2", {"F1"})
      .Add("F3", {"F2"})
      .Add("opt/B3", {"F3"})
      .Add("opt/X", {"opt/B3"})
      .Add("opt/B1", {"opt/X", "F1"})
      .Add("opt/Z", {}, "Op", {"opt/B1"})
      .Add("opt/B2", {"opt/B3", "F2", "opt/Z"})
      .Add("opt/U", {"opt/B1", "opt/B2"})
      .graph();
}

TEST(V1OptionsTest, ATriggerThatClosesACycleIsRefusedWithCompat) {
  Graph graph = HiddenOrderGraph();
  EXPECT_THAT(ApplyLms(E1Options(), graph),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("closes a cycle, through the trigger of a "
                                 "swap-in of F1:0")));
  EXPECT_EQ(FormatGraph(graph), FormatGraph(HiddenOrderGraph()));
}

TEST(V1OptionsTest, ATriggerThatClosesACycleIsDroppedAndToldOfWithoutCompat) {
  LmsOptions options = E1Options();
  options.compat = false;
  EXPECT_THAT(Swapped(options, HiddenOrderGraph()), ElementsAre("F2"));
  Graph graph = HiddenOrderGraph();
  const auto report = ApplyLms(options, graph);
  ASSERT_THAT(report, testing::IsOk());
  const bool is_told = std::ranges::any_of(
      report->dropped, [](const LmsReport::Dropped& dropped) {
        return dropped.tensor == "F1:0" &&
               dropped.reason == "a trigger would close a cycle";
      });
  EXPECT_TRUE(is_told);
}

std::vector<std::string> Log(const LmsOptions& options, Graph graph) {
  auto report = ApplyLms(options, graph);
  EXPECT_THAT(report, testing::IsOk());
  report->edit_ns = 2000000;
  return LogLines(options, *report);
}

TEST(V1OptionsTest, DebugLevelOneTellsEverySwap) {
  LmsOptions options = E1Options();
  options.v1.n_tensors = 1;
  options.debug_level = 1;
  EXPECT_THAT(
      Log(options, ChainE1()),
      ElementsAre(
          "[LMS][0] Editing model for LMS", "[LMS][0] n_tensors: 1",
          "[LMS][0] lb: 1", "[LMS][1] Starting ops: [('F1', 'Op')]",
          "[LMS][1] [0]: ['F1']", "[LMS][1] [1]: ['F2']",
          "[LMS][1] [2]: ['F3']", "[LMS][1] [3]: ['F4']",
          "[LMS][1] [4]: ['opt/B4']", "[LMS][1] [5]: ['opt/B3']",
          "[LMS][1] [6]: ['opt/B2']", "[LMS][1] [7]: ['opt/B1']",
          "[LMS][1] [8]: ['opt/U']", "[LMS][1] Operation: F1, order 0, type Op",
          "[LMS][1] Tensor F1:0 will be placed on /cpu:0",
          "[LMS][1] Consuming op opt/B1 (order 7) swaps in F1:0",
          "[LMS][1] Control dependency op opt/B2,  order: 6",
          "[LMS][0] Edited model is valid and logically equivalent to the "
          "original one",
          "[LMS][0] Added 2 ops into the model",
          "[LMS][0] Editing model for LMS, took: 2.000 ms",
          "[LMS][0] 1 tensors will be swapped out(in) to(from) the host"));
}

TEST(V1OptionsTest, DebugLevelTwoTellsEveryStep) {
  LmsOptions options = E1Options();
  options.debug_level = 2;
  options.v1.fuse_swapins = true;
  const std::vector<std::string> log = Log(options, SkipGraph());
  EXPECT_THAT(log, Contains("[LMS][2] Operation: net/F1"));
  EXPECT_THAT(log, Contains("[LMS][2] my frontier ops: {'net/F2', 'net/F4', "
                            "'opt/B2', 'opt/B1'}"));
  EXPECT_THAT(log,
              Contains("[LMS][2] my bw frontier ops: {'opt/B2', 'opt/B1'}"));
  EXPECT_THAT(log,
              Contains("[LMS][1] opt/B1 (order 7) reuses tensor net/F1:0"));
  EXPECT_THAT(log, Contains("[LMS][1] No control dependency op needed for swap "
                            "in of op net/F4."));
}

TEST(V1OptionsTest, OddButHarmlessOptionsAreWarnedOf) {
  LmsOptions options = E1Options();
  options.v1.lb = 0;
  options.v1.optimizer_scopes = {"opt", "adam"};
  options.v1.excl_types = {"Convolution", "Op3"};
  const std::vector<std::string> log = Log(options, ChainE1());
  EXPECT_THAT(log, Contains(HasSubstr("[LMS][0] Warning: lms_lb is 0")));
  EXPECT_THAT(log, Contains(HasSubstr("the optimizer scope adam")));
  EXPECT_THAT(log, Contains(HasSubstr("no node has the op Convolution")));
  EXPECT_THAT(log, Contains(HasSubstr("no node has the op Op3")));
}

TEST(V1OptionsTest, BadOptionsAreNamedWithWhatIsAllowed) {
  struct Bad {
    LmsOptions options;
    std::string message;
  };
  const auto with = [](auto change) {
    LmsOptions options = E1Options();
    options.compat = false;
    change(options);
    return options;
  };
  const std::vector<Bad> all = {
      {with([](LmsOptions& o) { o.v1.n_tensors = -2; }),
       "lms_n_tensors: -2 is not -1 (all), 0 (off) or positive"},
      {with([](LmsOptions& o) { o.v1.lb = -1; }),
       "lms_lb: -1 is negative; use 0 or more"},
      {with([](LmsOptions& o) { o.v1.ub = 1; }),
       "lms_ub: 1 is too small; with lms_lb 1 and chain_rule use at least 2"},
      {with([](LmsOptions& o) {
         o.v1.ub = 2;
         o.v1.ctrld_strategy = ControlStrategy::kDirectOrder;
       }),
       "lms_ub: 2 is too small; with lms_lb 1 and direct_order use at least 3"},
      {with([](LmsOptions& o) { o.v1.branch_threshold = -1; }),
       "lms_branch_threshold: -1 is negative; use 0 or more"},
      {with([](LmsOptions& o) { o.debug_level = 3; }),
       "lms_debug_level: 3 is not 0, 1 or 2"},
      {with([](LmsOptions& o) { o.size_threshold_bytes = -5; }),
       "lms_size_threshold: -5 bytes is negative; use 0 or more"},
      {with([](LmsOptions& o) { o.v1.starting_scope = "nett"; }),
       "lms_starting_scope: no node is in the scope nett; the top-level "
       "scopes are: net, opt"},
      {with([](LmsOptions& o) { o.v1.starting_op_names = {"net"}; }),
       "lms_starting_op_names: no node has the name net; "},
      {with([](LmsOptions& o) { o.v1.excl_scopes = {"net/F"}; }),
       "lms_excl_scopes: no node is in the scope net/F; the top-level scopes "
       "are: net, opt"},
      {with([](LmsOptions& o) { o.v1.incl_scopes = {"F1"}; }),
       "lms_incl_scopes: no node is in the scope F1;"},
      {with([](LmsOptions& o) { o.v1.incl_types = {"Convolution"}; }),
       "lms_incl_scopes, lms_incl_types: select no node"},
      {with([](LmsOptions& o) {
         o.v1.incl_scopes = {"net"};
         o.v1.excl_scopes = {"net/"};
       }),
       "lms_excl_scopes, lms_excl_types: leave no node of those that "
       "lms_incl_scopes and lms_incl_types select"},
      {with([](LmsOptions& o) { o.v1.excl_scopes = {""}; }),
       "lms_excl_scopes: has an empty name; leave it out"},
  };
  for (const Bad& bad : all) {
    SCOPED_TRACE(bad.message);
    Graph graph = SkipGraph();
    EXPECT_THAT(
        ApplyLms(bad.options, graph),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.message)));
    EXPECT_EQ(FormatGraph(graph), FormatGraph(SkipGraph()));
  }
}

TEST(V1OptionsTest, WhatLivesOnTheHostStaysThere) {
  Builder builder;
  builder.Add("F1", {}).Add("F2", {"F1"}).Add("F3", {"F2"});
  Graph graph = builder.graph();
  const TensorType type{.dtype = DType::kFloat32, .shape = {16, 16}};
  const ValueId f1 = *graph.FindValue("F1");
  const NodeId host = graph.AddNode({.name = "host",
                                     .op = "Op",
                                     .inputs = {f1},
                                     .outputs = {type},
                                     .placement = Placement::kHost});
  const auto add = [&](const std::string& name, std::vector<ValueId> inputs) {
    return graph.output(graph.AddNode({.name = name,
                                       .op = "Op",
                                       .inputs = std::move(inputs),
                                       .outputs = {type}}));
  };
  const ValueId b3 =
      add("opt/B3", {*graph.FindValue("F3"), graph.output(host)});
  const ValueId b2 = add("opt/B2", {b3, *graph.FindValue("F2")});
  const ValueId b1 = add("opt/B1", {b2, f1, graph.output(host)});
  add("opt/U", {b1});
  LmsOptions options = E1Options();
  options.compat = false;
  EXPECT_FALSE(Swapped(options, graph).contains("host"));
  EXPECT_TRUE(Swapped(options, graph).contains("F1"));
}

TEST(V1OptionsTest, AGraphWithoutAStartIsLeftAloneWithAWarning) {
  const Graph graph = Builder()
                          .Add("F1", {})
                          .Add("opt/B1", {"F1"})
                          .Add("opt/U", {"opt/B1"})
                          .graph();
  EXPECT_THAT(Swapped(E1Options(), graph), IsEmpty());
  EXPECT_THAT(Log(E1Options(), graph),
              Contains(HasSubstr("Warning: no forward node")));
}

}  // namespace
}  // namespace spillway
