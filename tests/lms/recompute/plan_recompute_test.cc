#include "lms/recompute/plan_recompute.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "lms/lms.h"
#include "tests/lms/recompute/clone_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::AddTo;
using testing::CloneOps;
using ::testing::ElementsAre;
using testing::FindIn;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::OutputIn;
using testing::StatusIs;

LmsOptions Policy(RecomputePolicy policy) {
  return {.recompute = {.policy = policy}};
}
const LmsOptions kCheap = Policy(RecomputePolicy::kCheap);
const LmsOptions kSqrt = Policy(RecomputePolicy::kSqrt);

// "lms/recompute_n_1 = Apply(h1:0, n:1) after opt/gradients/gr": one line for
// each clone, after the plan was applied and verified.
std::vector<std::string> Clones(const LmsOptions& options, Graph graph) {
  const OpRegistry ops = CloneOps();
  const size_t originals = graph.num_nodes();
  const auto plan = PlanRecompute(options, ops, graph);
  EXPECT_THAT(plan, IsOk());
  absl::StatusOr<Graph> edited = WithClones(*plan, ops, graph);
  EXPECT_THAT(edited, IsOk());
  graph = *std::move(edited);
  std::vector<std::string> clones;
  for (size_t i = originals; i < graph.num_nodes(); ++i) {
    const Node& node = graph.node(NodeId(i));
    std::vector<std::string> inputs;
    for (const ValueId input : node.inputs) {
      inputs.push_back(graph.ValueName(input));
    }
    clones.push_back(fmt::format("{} = {}({}) after {}", node.name, node.op,
                                 fmt::join(inputs, ", "),
                                 graph.node(node.control_inputs.at(0)).name));
  }
  return clones;
}

std::vector<std::string> Dropped(const LmsOptions& options,
                                 const Graph& graph) {
  const OpRegistry ops = CloneOps();
  const absl::StatusOr<RecomputePlan> plan = PlanRecompute(options, ops, graph);
  EXPECT_THAT(plan, IsOk());
  std::vector<std::string> dropped;
  for (const DroppedCandidate& candidate : plan->dropped) {
    dropped.push_back(fmt::format("{}: {}", graph.ValueName(candidate.value),
                                  candidate.reason));
  }
  return dropped;
}

// Norm and two heavy layers with activations:
//
//   x -- h1 -- n -- h2 -- r -- t -- loss
//   |     |    |          |         |
//   |     |    |          +--- gt --d        gt, gr read r
//   |     |    |              gr
//   |     |    +------------- gh2
//   |     +------------------ gn             also reads n:1
//   +------------------------ gh1
Graph NormStep() {
  Graph graph("step");
  AddTo(graph, "x", "F", {});
  AddTo(graph, "h1", "Heavy", {"x"});
  AddTo(graph, "n", "Norm", {"h1"});
  AddTo(graph, "h2", "Heavy", {"n"});
  AddTo(graph, "r", "Pure", {"h2"});
  AddTo(graph, "t", "Heavy", {"r"});
  AddTo(graph, "loss", "F", {"t"});
  AddTo(graph, "opt/gradients/d", "F", {"loss"});
  AddTo(graph, "opt/gradients/gt", "F", {"opt/gradients/d", "r"});
  AddTo(graph, "opt/gradients/gr", "F", {"opt/gradients/gt", "r"});
  AddTo(graph, "opt/gradients/gh2", "F", {"opt/gradients/gr", "n"});
  AddTo(graph, "opt/gradients/gn", "F", {"opt/gradients/gh2", "h1", "n:1"});
  AddTo(graph, "opt/gradients/gh1", "F", {"opt/gradients/gn", "x"});
  return graph;
}

// n is made again from h1, which its own gradient keeps on the device anyway;
// r would only make h2 wait.
TEST(CheapPolicyTest, RecomputesWhatFreesMoreThanItKeeps) {
  EXPECT_THAT(Clones(kCheap, NormStep()),
              ElementsAre("lms/recompute_n = Apply(h1:0, n:1) after "
                          "opt/gradients/gr"));
  EXPECT_THAT(Dropped(kCheap, NormStep()),
              ElementsAre("r:0: what it is made from would wait in its place"));
}

TEST(CheapPolicyTest, ChainsOfCheapNodesShareWhatTheyAreMadeFrom) {
  Graph graph("step");
  AddTo(graph, "x", "F", {});
  AddTo(graph, "h", "Heavy", {"x"});
  AddTo(graph, "a", "Pure", {"h"});
  AddTo(graph, "b", "Pure", {"a"});
  AddTo(graph, "c", "Pure", {"b"});
  AddTo(graph, "loss", "F", {"c"});
  AddTo(graph, "opt/gradients/d", "F", {"loss"});
  AddTo(graph, "opt/gradients/gc", "F", {"opt/gradients/d"});
  AddTo(graph, "opt/gradients/gb", "F", {"opt/gradients/gc", "c"});
  AddTo(graph, "opt/gradients/ga", "F", {"opt/gradients/gb", "b"});
  AddTo(graph, "opt/gradients/gh", "F", {"opt/gradients/ga", "a", "h"});
  EXPECT_THAT(Clones(kCheap, graph),
              ElementsAre("lms/recompute_a = Pure(h:0) after opt/gradients/gc",
                          "lms/recompute_b = Pure(lms/recompute_a:0) after "
                          "opt/gradients/gc",
                          "lms/recompute_c = Pure(lms/recompute_b:0) after "
                          "opt/gradients/gc"));
}

TEST(CheapPolicyTest, ValuesThatAreReadAtOnceStay) {
  Graph graph("step");
  AddTo(graph, "x", "F", {});
  AddTo(graph, "a", "Pure", {"x"});
  AddTo(graph, "opt/gradients/g", "F", {"a", "x"});
  EXPECT_THAT(Clones(kCheap, graph), IsEmpty());
  EXPECT_THAT(Dropped(kCheap, graph),
              ElementsAre("a:0: read as soon as the backward phase begins"));
}

TEST(CheapPolicyTest, SmallValuesStay) {
  LmsOptions options = kCheap;
  options.size_threshold_bytes = 257;  // each value has 256
  EXPECT_THAT(Clones(options, NormStep()), IsEmpty());
  EXPECT_THAT(Dropped(options, NormStep()),
              ElementsAre("n:0: smaller than the size threshold",
                          "r:0: smaller than the size threshold"));
}

// F1 -> F2 -> ... of `length` heavy nodes; the gradient of each reads it.
Graph HeavyChain(int length) {
  Graph graph("chain");
  AddTo(graph, "F0", "F", {});
  for (int i = 1; i <= length; ++i) {
    AddTo(graph, fmt::format("F{}", i), "Heavy", {fmt::format("F{}", i - 1)});
  }
  AddTo(graph, "opt/gradients/last", "F", {fmt::format("F{}", length)});
  std::string behind = "opt/gradients/last";
  for (int i = length; i >= 1; --i) {
    const std::string name = fmt::format("opt/gradients/B{}", i);
    AddTo(graph, name, "F", {behind, fmt::format("F{}", i)});
    behind = name;
  }
  return graph;
}

TEST(CheckpointPolicyTest, RecomputesASegmentAtOnce) {
  EXPECT_THAT(Clones(kSqrt, HeavyChain(9)),
              ElementsAre("lms/recompute_F1 = Heavy(F0:0) after "
                          "opt/gradients/B5",
                          "lms/recompute_F2 = Heavy(lms/recompute_F1:0) after "
                          "opt/gradients/B5",
                          "lms/recompute_F3 = Heavy(lms/recompute_F2:0) after "
                          "opt/gradients/B5",
                          "lms/recompute_F4 = Heavy(lms/recompute_F3:0) after "
                          "opt/gradients/B5"));
}

TEST(CheckpointPolicyTest, ChainsNeedTwiceTheSquareRootOfTheirLength) {
  for (const int length : {25, 64, 100, 400, 1000}) {
    SCOPED_TRACE(length);
    const Graph graph = HeavyChain(length);
    ASSERT_OK_AND_ASSIGN(const RecomputePlan plan,
                         PlanRecompute(kSqrt, CloneOps(), graph));
    // Values on the device as the backward phase of a segment begins: those
    // that stay of it and of earlier segments, and its clones.
    std::set<NodeId> recomputed;
    for (const Clone& clone : plan.clones) recomputed.insert(clone.original);
    int stay = 0;
    int cloned = 0;  // of the current segment, which ends with a checkpoint
    int most = 0;
    for (int i = 1; i <= length; ++i) {
      const bool stays =
          !recomputed.contains(FindIn(graph, fmt::format("F{}", i)));
      ++(stays ? stay : cloned);
      most = std::max(most, stay + cloned);
      if (stays) cloned = 0;
    }
    EXPECT_LE(most, 2 * std::sqrt(length) + 2);
  }
}

TEST(PlanRecomputeTest, ExcludedScopesAndOpsAreNeverRecomputed) {
  LmsOptions options = kCheap;
  options.recompute.excl_types = {"Norm"};
  EXPECT_THAT(Clones(options, NormStep()), IsEmpty());
  options.recompute = {.policy = RecomputePolicy::kCheap, .excl_scopes = {"n"}};
  EXPECT_THAT(Clones(options, NormStep()), IsEmpty());
  options.recompute.excl_scopes = {"r"};
  EXPECT_THAT(Clones(options, NormStep()), ::testing::SizeIs(1));
}

TEST(PlanRecomputeTest, OffAndAutoRecomputeNothing) {
  for (const RecomputePolicy policy :
       {RecomputePolicy::kOff, RecomputePolicy::kAuto}) {
    EXPECT_THAT(Clones(Policy(policy), NormStep()), IsEmpty());
  }
}

// Heavy chain y -> y2 whose first node reads w, which u overwrites. y's clone
// is needed by y2's, for b2.
//
//   w ---> y ---> y2 ---> d ---> b2 ---> b1        b2 reads y2, b1 reads y
//   x ----^                +--> u (overwrites w)
Graph UpdatedStep(bool reads_y2) {
  Graph graph("step");
  AddTo(graph, "w", "Variable", {});
  AddTo(graph, "x", "F", {});
  AddTo(graph, "y", "Pure", {"x", "w"});
  AddTo(graph, "y2", "Pure", {"y"});
  AddTo(graph, "last", "F", {"y2"});
  AddTo(graph, "opt/gradients/d", "F", {"last"});
  AddTo(graph, "opt/gradients/b2", "F",
        {"opt/gradients/d", reads_y2 ? "y2" : "x"});
  AddTo(graph, "opt/gradients/b1", "F", {"opt/gradients/b2", "y", "x"});
  AddTo(graph, "opt/u", "Update", {"w", "opt/gradients/d"}, {"y"});
  return graph;
}

TEST(PlanRecomputeTest, ClonesRunBeforeTheUpdateOfTheirVariables) {
  Graph graph = UpdatedStep(true);
  ASSERT_OK_AND_ASSIGN(const RecomputePlan plan,
                       PlanRecompute(kCheap, CloneOps(), graph));
  ASSERT_EQ(plan.clones.size(), 2);
  ASSERT_EQ(plan.orders.size(), 1);
  EXPECT_EQ(plan.orders[0].before, 0);
  EXPECT_EQ(plan.orders[0].after, FindIn(graph, "opt/u"));
  EXPECT_THAT(WithClones(plan, CloneOps(), graph), IsOk());
}

// Only y2's clone reads that of y, and the last reader of y2 leads to u:
//
//   w ---> y ---> y2 ---> d ---> b2                b2, b3 read y2
//   x ----^                +---> d2 ---> b3 ---> u (overwrites w)
TEST(PlanRecomputeTest, ReadersOfAClonesCloneOrderItBeforeUpdates) {
  Graph graph("step");
  AddTo(graph, "w", "Variable", {});
  AddTo(graph, "x", "F", {});
  AddTo(graph, "y", "Pure", {"x", "w"});
  AddTo(graph, "y2", "Pure", {"y"});
  AddTo(graph, "last", "F", {"y2"});
  AddTo(graph, "opt/gradients/d", "F", {"last"});
  AddTo(graph, "opt/gradients/b2", "F", {"opt/gradients/d", "y2", "x"});
  AddTo(graph, "opt/gradients/d2", "F", {"opt/gradients/d"});
  AddTo(graph, "opt/gradients/b3", "F", {"opt/gradients/d2", "y2", "x"});
  AddTo(graph, "opt/u", "Update", {"w", "opt/gradients/b3"}, {"y"});
  ASSERT_OK_AND_ASSIGN(const RecomputePlan plan,
                       PlanRecompute(kCheap, CloneOps(), graph));
  EXPECT_EQ(plan.clones.size(), 2);
  EXPECT_THAT(plan.orders, IsEmpty());
  EXPECT_THAT(WithClones(plan, CloneOps(), graph), IsOk());
}

// b1, the first reader of y, may run after u.
TEST(PlanRecomputeTest, NothingIsRecomputedAfterTheUpdateOfItsVariables) {
  const Graph graph = UpdatedStep(false);
  EXPECT_THAT(Clones(kCheap, graph), IsEmpty());
  EXPECT_THAT(
      Dropped(kCheap, graph),
      ElementsAre("y:0: a variable that its node reads is updated before"));
}

TEST(PlanRecomputeTest, AliasesAreRecreatedWithTheirBytes) {
  Graph graph("step");
  AddTo(graph, "x", "F", {});
  AddTo(graph, "a", "Pure", {"x"});
  AddTo(graph, "flat", "Alias", {"a"});
  AddTo(graph, "loss", "F", {"flat"});
  AddTo(graph, "opt/gradients/d", "F", {"loss"});
  AddTo(graph, "opt/gradients/g", "F", {"opt/gradients/d", "flat", "x"});
  EXPECT_THAT(Clones(kCheap, graph),
              ElementsAre("lms/recompute_a = Pure(x:0) after opt/gradients/d",
                          "lms/recompute_flat = Alias(lms/recompute_a:0) after "
                          "opt/gradients/d"));
}

TEST(PlanRecomputeTest, BadInputIsRefused) {
  const auto error = [](LmsOptions options, const Graph& graph) {
    return PlanRecompute(options, CloneOps(), graph).status();
  };
  using enum absl::StatusCode;
  LmsOptions options = kCheap;
  options.recompute.excl_scopes = {"nowhere"};
  EXPECT_THAT(
      error(options, NormStep()),
      StatusIs(
          kInvalidArgument,
          HasSubstr(
              "lms_recompute_excl_scopes: no node is in the scope nowhere; ")));
  options = kCheap;
  options.recompute.excl_types = {"Relu"};
  EXPECT_THAT(error(options, NormStep()),
              StatusIs(kInvalidArgument,
                       HasSubstr("lms_recompute_excl_types: no node of ")));
  options = kCheap;
  options.compat = true;
  EXPECT_THAT(error(options, NormStep()),
              StatusIs(kInvalidArgument,
                       HasSubstr("lms_compat: excludes lms_recompute")));
  Graph plan_only("plan_only");
  AddTo(plan_only, "a", "F", {});
  AddTo(plan_only, "opt/gradients/b", "F", {"a"});
  EXPECT_THAT(error(kCheap, plan_only),
              StatusIs(kInvalidArgument,
                       HasSubstr("nodes of unknown ops are never computed "
                                 "again")));
  ASSERT_OK_AND_ASSIGN(const RecomputePlan plan,
                       PlanRecompute(kCheap, CloneOps(), NormStep()));
  ASSERT_OK_AND_ASSIGN(const Graph edited,
                       WithClones(plan, CloneOps(), NormStep()));
  EXPECT_THAT(error(kCheap, edited),
              StatusIs(kFailedPrecondition, HasSubstr("lms/recompute_n")));
}

}  // namespace
}  // namespace spillway
