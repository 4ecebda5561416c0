// A clone takes the time of its original in every model of a step: one that
// took no time would be chosen for everything.
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "graph/builder/builder.h"
#include "lms/lms.h"
#include "lms/recompute/clone_nodes.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "simulator/cost_model.h"
#include "simulator/node_signature.h"
#include "simulator/shipped_profiles.h"
#include "tests/support/status_matchers.h"
#include "tests/tuner/tuner_case.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

using testing::CaseOf;
using testing::ModelOf;
using testing::TunerCase;

Graph TrainedResNet() {
  GraphBuilder g(StandardOps(), "resnet20");
  const ModelGraph network =
      BuildModel(g, "resnet20", {.batch_size = 2}).value();
  Minimize(g.Scope("optimizer"), network.loss, Sgd{});
  return std::move(g).Build().value();
}

// Each kind of node of `graph` takes another time.
DeviceProfile ProfileOfEachKind(const Graph& graph) {
  DeviceProfile profile = ShippedProfile("p100_pcie").value();
  int64_t ns = 10'000;
  for (const Node& node : graph.nodes()) {
    const std::string signature = NodeSignature(graph, node);
    if (profile.kernels.emplace(signature, ns).second) ns += 1'000;
  }
  return profile;
}

TEST(CloneTimesTest, AreThoseOfTheOriginalsAndPartOfTheStep) {
  const Graph graph = TrainedResNet();
  const OpRegistry& ops = StandardOps();
  const DeviceProfile profile = ProfileOfEachKind(graph);
  for (const RecomputePolicy policy :
       {RecomputePolicy::kCheap, RecomputePolicy::kSqrt}) {
    SCOPED_TRACE(RecomputePolicyName(policy));
    ASSERT_OK_AND_ASSIGN(
        const RecomputePlan plan,
        PlanRecompute({.recompute = {.policy = policy}}, ops, graph));
    ASSERT_OK_AND_ASSIGN(const Graph edited, WithClones(plan, ops, graph));
    const auto times = EstimateKernelTimes(edited, ops, profile);
    int64_t clones_ns = 0;
    int same = 0;
    int derived = 0;
    for (size_t i = 0; i < plan.clones.size(); ++i) {
      const Clone& clone = plan.clones[i];
      const int64_t ns = times[NodeId(FirstClone(edited) + i)];
      clones_ns += ns;
      ++(clone.derived_output < 0 ? same : derived);
      if (clone.derived_output < 0) {
        EXPECT_EQ(ns, times[clone.original]);
      } else {
        EXPECT_GE(ns, profile.kernel_ns);
      }
    }
    EXPECT_GT(derived, 0);
    EXPECT_GT(same, 0);
    const auto step_ns = [&](const Graph& step) {
      TunerCase tuner_case = CaseOf(step, ops, 0, profile);
      tuner_case.kernel_ns = EstimateKernelTimes(step, ops, profile);
      return ModelOf(tuner_case).kernels_ns;
    };
    EXPECT_EQ(step_ns(edited), step_ns(graph) + clones_ns);
  }
}

}  // namespace
}  // namespace spillway
