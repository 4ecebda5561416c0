#include "lms/recompute/verify_recompute.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "lms/recompute/apply_recompute_plan.h"
#include "lms/recompute/plan_recompute.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"
#include "tests/lms/recompute/clone_ops.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using testing::AddTo;
using testing::CloneOps;
using ::testing::ElementsAre;
using testing::FindIn;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kCloneType;
using testing::OutputIn;
using testing::StatusIs;

// y and y2 are computed again for b2 and b1. y reads w, which u overwrites.
//
//   w ---> y ---> y2 ---> d ---> b2 ---> b1
//   x ----^                 +--> u (overwrites w)
Graph UpdatedStep() {
  Graph graph("step");
  AddTo(graph, "w", "Variable", {});
  AddTo(graph, "x", "F", {});
  AddTo(graph, "y", "Pure", {"x", "w"});
  AddTo(graph, "y2", "Pure", {"y"});
  AddTo(graph, "d", "F", {"y2"});
  AddTo(graph, "b2", "F", {"d", "y2"});
  AddTo(graph, "b1", "F", {"b2", "y"});
  AddTo(graph, "b0", "F", {"b1", "y"});
  AddTo(graph, "u", "Update", {"w", "d"}, {"y"});
  return graph;
}

RecomputePlan UpdatedStepPlan(const Graph& graph) {
  RecomputePlan plan;
  plan.clones.push_back(
      {.original = FindIn(graph, "y"),
       .inputs = {{.value = OutputIn(graph, "x")},
                  {.value = OutputIn(graph, "w")}},
       .triggers = {FindIn(graph, "y2")},
       .readers = {{.output = 0, .readers = {FindIn(graph, "b1")}}}});
  plan.clones.push_back(
      {.original = FindIn(graph, "y2"),
       .inputs = {{.clone = 0}},
       .triggers = {FindIn(graph, "d")},
       .readers = {{.output = 0, .readers = {FindIn(graph, "b2")}}}});
  plan.orders.push_back({.before = 0, .after = FindIn(graph, "u")});
  return plan;
}

absl::Status ApplyAndVerify(const RecomputePlan& plan, const Graph& graph,
                            const std::function<void(Graph&)>& damage = {}) {
  const OpRegistry ops = CloneOps();
  Graph edited = graph;
  SPILLWAY_RETURN_IF_ERROR(CheckIds(plan, ops, graph));
  ApplyRecomputePlan(plan, ops, edited);
  if (damage) damage(edited);
  return VerifyRecompute(graph, edited, plan, ops);
}

TEST(ApplyRecomputePlanTest, ClonesAreAddedAndReadInPlaceOfTheirOriginals) {
  const Graph graph = UpdatedStep();
  Graph edited = graph;
  const OpRegistry ops = CloneOps();
  const RecomputePlan plan = UpdatedStepPlan(graph);
  ApplyRecomputePlan(plan, ops, edited);
  ASSERT_EQ(edited.num_nodes(), graph.num_nodes() + 2);
  const Node& y = edited.node(NodeId(graph.num_nodes()));
  const Node& y2 = edited.node(NodeId(graph.num_nodes() + 1));
  EXPECT_EQ(y.name, "lms/recompute_y");
  EXPECT_EQ(y2.name, "lms/recompute_y2");
  EXPECT_THAT(y.inputs,
              ElementsAre(OutputIn(graph, "x"), OutputIn(graph, "w")));
  EXPECT_THAT(y2.inputs, ElementsAre(y.outputs[0]));
  EXPECT_THAT(edited.node(FindIn(graph, "b1")).inputs,
              ElementsAre(OutputIn(graph, "b2"), y.outputs[0]));
  EXPECT_THAT(edited.node(FindIn(graph, "b2")).inputs,
              ElementsAre(OutputIn(graph, "d"), y2.outputs[0]));
  EXPECT_THAT(edited.node(FindIn(graph, "y2")).inputs,
              ElementsAre(OutputIn(graph, "y")));
  EXPECT_THAT(edited.node(FindIn(graph, "u")).control_inputs,
              ElementsAre(FindIn(graph, "y"), y.id));
}

TEST(VerifyRecomputeTest, AcceptsThePlannedEdit) {
  const Graph graph = UpdatedStep();
  EXPECT_THAT(ApplyAndVerify(UpdatedStepPlan(graph), graph), IsOk());
}

struct CloneDamage {
  std::string name;
  std::function<void(Graph&)> apply;
  std::string message;
};

TEST(VerifyRecomputeTest, CatchesADamagedEdit) {
  const std::vector<CloneDamage> damages = {
      {"a reader of another value",
       [](Graph& g) {
         g.SetInput({FindIn(g, "b1"), 1}, OutputIn(g, "lms/recompute_y2"));
       },
       "input 1 of b1 was y:0, but is lms/recompute_y2:0"},
      {"a clone of other inputs",
       [](Graph& g) {
         g.SetInput({FindIn(g, "lms/recompute_y"), 0}, OutputIn(g, "w"));
       },
       "lms/recompute_y is the clone of y, but its input 0 is w:0"},
      {"a clone with swapped inputs",
       [](Graph& g) {
         g.SetInput({FindIn(g, "lms/recompute_y"), 0}, OutputIn(g, "w"));
         g.SetInput({FindIn(g, "lms/recompute_y"), 1}, OutputIn(g, "x"));
       },
       "lms/recompute_y is the clone of y, but its input 0 is w:0"},
      {"a clone that reads another clone",
       [](Graph& g) {
         g.SetInput({FindIn(g, "lms/recompute_y2"), 0}, OutputIn(g, "x"));
       },
       "its input 0 is x:0"},
      {"a reader too few",
       [](Graph& g) {
         g.SetInput({FindIn(g, "b1"), 1}, OutputIn(g, "y"));
       },
       "lms/recompute_y is the clone of y, but has other readers"},
      {"a reader too many",
       [](Graph& g) {
         g.SetInput({FindIn(g, "b0"), 1}, OutputIn(g, "lms/recompute_y"));
       },
       "lms/recompute_y is the clone of y, but has other readers"},
      {"the clone's trigger reads it",
       [](Graph& g) {
         g.SetInput({FindIn(g, "y2"), 0}, OutputIn(g, "lms/recompute_y"));
       },
       "cycle"},
      {"another trigger",
       [](Graph& g) {
         g.AddControlEdge(FindIn(g, "x"), FindIn(g, "lms/recompute_y"));
       },
       "has other triggers"},
      {"another order",
       [](Graph& g) {
         g.AddControlEdge(FindIn(g, "lms/recompute_y2"), FindIn(g, "u"));
       },
       "control inputs of u"},
      {"another node", [](Graph& g) { AddTo(g, "more", "F", {"x"}); },
       "the plan adds 2 nodes, the edit added 3"}};
  const Graph graph = UpdatedStep();
  for (const CloneDamage& damage : damages) {
    SCOPED_TRACE(damage.name);
    EXPECT_THAT(
        ApplyAndVerify(UpdatedStepPlan(graph), graph, damage.apply),
        StatusIs(absl::StatusCode::kInternal, HasSubstr(damage.message)));
  }
}

// The step with y as a node of many attributes, and its clone after `change`.
absl::Status VerifyCloneOfY(const std::function<void(NodeSpec&)>& change) {
  const Graph plain = UpdatedStep();
  Graph graph("step");
  const Attributes attributes = {
      {"seed", int64_t{7}}, {"rate", 0.5}, {"strides", {1, 2}}};
  for (const Node& node : plain.nodes()) {
    NodeSpec spec = {.name = node.name,
                     .op = node.op,
                     .inputs = node.inputs,
                     .control_inputs = node.control_inputs,
                     .outputs = {kCloneType}};
    if (node.name == "y") spec.attributes = attributes;
    graph.AddNode(std::move(spec));
  }
  RecomputePlan plan = UpdatedStepPlan(graph);
  plan.clones.pop_back();
  NodeSpec spec = {.name = "lms/recompute_y",
                   .op = "Pure",
                   .inputs = {OutputIn(graph, "x"), OutputIn(graph, "w")},
                   .control_inputs = plan.clones[0].triggers,
                   .outputs = {kCloneType},
                   .attributes = attributes};
  change(spec);
  Graph edited = graph;
  const NodeId clone = edited.AddNode(std::move(spec));
  edited.SetInput({FindIn(edited, "b1"), 1}, edited.output(clone));
  edited.AddControlEdge(clone, FindIn(edited, "u"));
  return VerifyRecompute(graph, edited, plan, CloneOps());
}

TEST(VerifyRecomputeTest, CatchesACloneOfAnotherKind) {
  EXPECT_THAT(VerifyCloneOfY([](NodeSpec&) {}), IsOk());
  const std::string other_op = "is another op, or has other attributes";
  struct Fault {
    std::string name;
    std::function<void(NodeSpec&)> change;
    std::string message;
  };
  const std::vector<Fault> faults = {
      {"seed", [](NodeSpec& s) { s.attributes.Set("seed", int64_t{8}); },
       other_op},
      {"rate", [](NodeSpec& s) { s.attributes.Set("rate", 0.25); }, other_op},
      {"strides",
       [](NodeSpec& s) {
         s.attributes.Set("strides", {2, 1});
       },
       other_op},
      {"one attribute more",
       [](NodeSpec& s) { s.attributes.Set("dtype", DType::kBFloat16); },
       other_op},
      {"no attributes", [](NodeSpec& s) { s.attributes = {}; }, other_op},
      {"op", [](NodeSpec& s) { s.op = "Heavy"; }, other_op},
      {"place", [](NodeSpec& s) { s.placement = Placement::kHost; }, other_op},
      {"cost", [](NodeSpec& s) { s.cost = StatedCost{.flops = 1}; }, other_op},
      {"types",
       [](NodeSpec& s) {
         s.outputs.push_back({.dtype = DType::kBFloat16, .shape = {64}});
       },
       "has other types"},
      {"number of inputs", [](NodeSpec& s) { s.inputs.pop_back(); },
       "has another number of inputs"}};
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.name);
    EXPECT_THAT(VerifyCloneOfY(fault.change),
                StatusIs(absl::StatusCode::kInternal,
                         HasSubstr("lms/recompute_y is the clone of y, but " +
                                   fault.message)));
  }
}

struct BadClones {
  std::string name;
  std::function<void(RecomputePlan&, const Graph&)> change;
  std::string message;
};

TEST(VerifyRecomputeTest, CatchesABadPlan) {
  const std::vector<BadClones> plans = {
      {"the clone may see updated weights",
       [](RecomputePlan& plan, const Graph&) { plan.orders.clear(); },
       "lms/recompute_y must run before u"},
      {"the clone waits for the update",
       [](RecomputePlan& plan, const Graph& g) {
         plan.orders.clear();
         plan.clones[0].triggers = {FindIn(g, "u")};
       },
       "lms/recompute_y must run before u"},
      {"no trigger",
       [](RecomputePlan& plan, const Graph&) {
         plan.clones[1].triggers.clear();
       },
       "lms/recompute_y2 is the clone of y2, but has no trigger"},
      {"no reader",
       [](RecomputePlan& plan, const Graph&) {
         plan.clones[1].readers.clear();
       },
       "has other readers than in the plan, or none"},
      {"the trigger comes after the reader",
       [](RecomputePlan& plan, const Graph& g) {
         plan.clones[1].triggers = {FindIn(g, "b1")};
       },
       "cycle"},
      {"an update runs twice",
       [](RecomputePlan& plan, const Graph& g) {
         plan.clones.push_back({.original = FindIn(g, "u"),
                                .inputs = {{.value = OutputIn(g, "w")},
                                           {.value = OutputIn(g, "d")}},
                                .triggers = {FindIn(g, "d")}});
       },
       "op Update overwrites an input"},
      {"an unknown op runs twice",
       [](RecomputePlan& plan, const Graph& g) {
         plan.clones.push_back(
             {.original = FindIn(g, "d"),
              .inputs = {{.value = OutputIn(g, "y2")}},
              .triggers = {FindIn(g, "d")},
              .readers = {{.output = 0, .readers = {FindIn(g, "b2")}}}});
       },
       "op F is not registered, so it may have side effects"}};
  const Graph graph = UpdatedStep();
  for (const BadClones& bad : plans) {
    SCOPED_TRACE(bad.name);
    RecomputePlan plan = UpdatedStepPlan(graph);
    bad.change(plan, graph);
    EXPECT_THAT(ApplyAndVerify(plan, graph),
                StatusIs(absl::StatusCode::kInternal, HasSubstr(bad.message)));
  }
}

// n ends with the statistics that Apply reads; b reads n's y.
Graph NormalizedStep() {
  Graph graph("norm");
  AddTo(graph, "x", "F", {});
  graph.AddNode({.name = "n",
                 .op = "Norm",
                 .inputs = {OutputIn(graph, "x")},
                 .outputs = {kCloneType, kCloneType}});
  AddTo(graph, "d", "F", {"n"});
  AddTo(graph, "b", "F", {"d", "n", "x"});
  return graph;
}

TEST(VerifyRecomputeTest, ADerivedCloneIsAsItsOpSays) {
  const Graph graph = NormalizedStep();
  const NodeId n = FindIn(graph, "n");
  RecomputePlan plan;
  plan.clones.push_back(
      {.original = n,
       .derived_output = 0,
       .inputs = {{.value = OutputIn(graph, "x")},
                  {.value = graph.output(n, 1)}},
       .triggers = {FindIn(graph, "d")},
       .readers = {{.output = 0, .readers = {FindIn(graph, "b")}}}});
  EXPECT_THAT(ApplyAndVerify(plan, graph), IsOk());
  Graph edited = graph;
  ApplyRecomputePlan(plan, CloneOps(), edited);
  const Node& apply = edited.node(NodeId(graph.num_nodes()));
  EXPECT_EQ(apply.name, "lms/recompute_n");
  EXPECT_EQ(apply.op, "Apply");
  EXPECT_EQ(apply.attributes, Attributes({{"activation", "relu"}}));
  const auto refusal = [&](const std::function<void(Graph&)>& damage) {
    return ApplyAndVerify(plan, graph, damage);
  };
  EXPECT_THAT(refusal([](Graph& g) {
                const NodeId clone = FindIn(g, "lms/recompute_n");
                g.SetInput({clone, 1}, OutputIn(g, "x"));
              }),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("but its input 1 is x:0")));
  plan.clones[0].derived_output = -1;
  plan.clones[0].inputs.pop_back();
  EXPECT_THAT(ApplyAndVerify(plan, graph),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("op Norm must not run twice")));
  plan.clones[0].derived_output = 1;
  EXPECT_THAT(ApplyAndVerify(plan, graph),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("do not belong to norm")));
}

// x, then a convolution and a batch norm, twice; trained.
Graph TrainedNorms() {
  GraphBuilder g(StandardOps(), "norms");
  Tensor x = g.Placeholder("x", DType::kFloat32, {2, 8, 8, 4});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {2});
  for (const char* block : {"a", "b"}) {
    const NameScope scope = g.Scope(block);
    x = Conv2D(scope, x, {.filters = 4, .kernel = {3, 3}});
    x = BatchNorm(scope, x, {.activation = Activation::kRelu});
  }
  const Tensor logits =
      Dense(g.Scope("logits"), Flatten(g.Scope("flat"), x), {.units = 2});
  const Tensor loss =
      SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, labels);
  Minimize(g.Scope("optimizer"), loss, Sgd{});
  return std::move(g).Build().value();
}

// FusedBatchNorm updates its moving statistics, so it must not run twice, and
// BatchNormApply must read those of the batch.
TEST(VerifyRecomputeTest, ACloneOfABatchNormReadsTheStatisticsOfTheBatch) {
  const Graph graph = TrainedNorms();
  const OpRegistry& ops = StandardOps();
  ASSERT_OK_AND_ASSIGN(
      RecomputePlan plan,
      PlanRecompute({.recompute = {.policy = RecomputePolicy::kCheap}}, ops,
                    graph));
  ASSERT_FALSE(plan.clones.empty());
  Graph edited = graph;
  ApplyRecomputePlan(plan, ops, edited);
  ASSERT_THAT(VerifyRecompute(graph, edited, plan, ops), IsOk());
  const NodeId clone(graph.num_nodes());
  ASSERT_EQ(edited.node(clone).op, "BatchNormApply");
  const Node& original = graph.node(plan.clones[0].original);
  for (const int32_t slot : {3, 4}) {  // the same slots of both ops
    Graph damaged = edited;
    const ValueId moving = original.inputs[static_cast<size_t>(slot)];
    damaged.SetInput({clone, slot}, moving);
    EXPECT_THAT(VerifyRecompute(graph, damaged, plan, ops),
                StatusIs(absl::StatusCode::kInternal,
                         HasSubstr(fmt::format("but its input {} is {}", slot,
                                               graph.ValueName(moving)))));
  }
  plan.clones[0].derived_output = -1;
  plan.clones[0].inputs.clear();
  for (const ValueId input : original.inputs) {
    plan.clones[0].inputs.push_back({.value = input});
  }
  Graph twice = graph;
  ApplyRecomputePlan(plan, ops, twice);
  EXPECT_THAT(VerifyRecompute(graph, twice, plan, ops),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("it has none: op FusedBatchNorm")));
}

TEST(VerifyRecomputeTest, PlansOfAnotherGraphAreRefused) {
  const Graph graph = UpdatedStep();
  const auto refusal = [&](const std::function<void(RecomputePlan&)>& change) {
    RecomputePlan plan = UpdatedStepPlan(graph);
    change(plan);
    return CheckIds(plan, CloneOps(), graph);
  };
  EXPECT_THAT(refusal([](RecomputePlan&) {}), IsOk());
  const std::vector<std::function<void(RecomputePlan&)>> changes = {
      [](RecomputePlan& p) { p.clones[0].original = NodeId(99); },
      [](RecomputePlan& p) { p.clones[0].triggers = {NodeId()}; },
      [](RecomputePlan& p) { p.clones[0].inputs[0].value = ValueId(99); },
      [](RecomputePlan& p) { p.clones[0].inputs[0].clone = 0; },
      [](RecomputePlan& p) { p.clones[1].inputs[0].output = 1; },
      [](RecomputePlan& p) { p.clones[1].readers[0].output = -1; },
      [](RecomputePlan& p) { p.clones[1].readers[0].readers = {NodeId(99)}; },
      [](RecomputePlan& p) { p.clones[1].derived_output = 0; },
      [](RecomputePlan& p) { p.orders[0].before = 2; }};
  for (const auto& change : changes) {
    EXPECT_THAT(refusal(change), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("do not belong to step")));
  }
}

}  // namespace
}  // namespace spillway
