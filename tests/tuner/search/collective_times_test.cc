#include "tuner/search/collective_times.h"

#include <map>
#include <string>

#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "graph/well_known_ops.h"
#include "models/layers/layers.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "simulator/cost_model.h"
#include "tests/support/status_matchers.h"
#include "tests/tuner/tuner_case.h"
#include "training/optimizer.h"
#include "tuner/tune.h"

namespace spillway {
namespace {

using testing::CaseOf;
using testing::LinkOf;
using testing::TunerCase;

//   kernels       | r0 | r1 | r2 |         10 ns each
//   collectives        | s0 | s1 |  | s2   of s: 10 ns
TEST(CollectiveTimesTest, CollectivesRunBesideKernelsOnceTheirInputsExist) {
  GraphBuilder g(StandardOps());
  const Tensor weight = g.Placeholder("weight", DType::kFloat32, {});
  Tensor x = g.Placeholder("x", DType::kFloat32, {8});
  std::vector<Tensor> all;
  for (int i = 0; i < 3; ++i) {
    x = Relu(g.Scope(fmt::format("r{}", i)), x);
    all.push_back(x);
  }
  for (int i = 0; i < 3; ++i) {  // last in creation order
    g.Add(g, {.op = "AllReduce",
              .inputs = {all[static_cast<size_t>(i)], weight},
              .name = fmt::format("s{}", i)});
  }
  TunerCase made =
      CaseOf(std::move(g).Build().value(), StandardOps(), 10, LinkOf(1));
  std::map<std::string, Interval> ran;
  for (const Node& node : made.graph.nodes()) {
    if (node.op == "Placeholder") made.kernel_ns[node.id] = 0;
    if (node.name == "s1") made.kernel_ns[node.id] = 25;
  }
  const auto times = CollectiveTimes(made.graph, made.schedule, made.kernel_ns);
  for (const Node& node : made.graph.nodes()) ran[node.name] = times[node.id];
  EXPECT_EQ(ran["s0"], (Interval{10, 20}));
  EXPECT_EQ(ran["s1"], (Interval{20, 45}));
  EXPECT_EQ(ran["s2"], (Interval{45, 55}));
}

TEST(CollectiveTimesTest, AGraphWithoutCollectivesHasNone) {
  const TunerCase made = testing::TrainingCase(1, 5);
  EXPECT_TRUE(
      CollectiveTimes(made.graph, made.schedule, made.kernel_ns).empty());
}

// Without the placement, a collective with scratch waits for the end of the
// backward phase: VGG-16's step is then a fifth longer.
TEST(CollectiveTimesTest, TheTunerHidesCommunicationThatCanBeHidden) {
  GraphBuilder g(StandardOps());
  const ModelGraph model = BuildModel(g, "vgg16", {.batch_size = 64}).value();
  MinimizeOptions options;
  options.reduction = GradientReduction{};
  Minimize(g.Scope("optimizer"), model.loss, Sgd{}, options);
  const Graph graph = std::move(g).Build().value();
  ASSERT_OK_AND_ASSIGN(
      const TuneResult tuned,
      Tune({.graph = graph, .fetches = {model.loss}},
           {.device = "cpu",
            .threads = 1,
            .profile = "p100_pcie",
            .network = {.workers = 64, .network_gbps = 3.125}}));
  const EvaluatedRecipe& chosen = tuned.step.chosen;
  const auto times =
      CollectiveTimes(graph, chosen.recipe.schedule,
                      EstimateKernelTimes(graph, StandardOps(), tuned.profile));
  int64_t end_ns = 0;
  for (const NodeId id : chosen.recipe.schedule.order) {
    end_ns = std::max(end_ns, times[id].end);
  }
  EXPECT_LT(static_cast<double>(chosen.step.step_ns),
            1.02 * static_cast<double>(end_ns));
}

}  // namespace
}  // namespace spillway
