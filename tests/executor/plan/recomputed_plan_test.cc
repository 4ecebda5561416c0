// Faults in the plan of a step with clones: each is caught before the step
// runs.
#include <algorithm>
#include <string>
#include <vector>

#include "executor/kernel_registry.h"
#include "executor/plan/choose_schedule.h"
#include "executor/plan/compile.h"
#include "executor/plan/verify_plan.h"
#include "fmt/format.h"
#include "lms/lms.h"
#include "tests/executor/plan/naive_plan.h"
#include "tests/lms/recompute/clone_ops.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::AddTo;
using testing::CloneOps;
using testing::FindIn;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kCloneType;
using testing::OutputIn;
using testing::StatusIs;

constexpr int64_t kScratch = 4096;

// f0 -> f1 -> ... -> f9, of which each but f0 needs scratch; the gradient of
// each reads it.
Graph HeavyChain() {
  constexpr int kLength = 9;
  Graph graph("chain");
  AddTo(graph, "f0", "F", {});
  for (int i = 1; i <= kLength; ++i) {
    graph.AddNode(
        {.name = fmt::format("f{}", i),
         .op = "Heavy",
         .inputs = {OutputIn(graph, fmt::format("f{}", i - 1))},
         .outputs = {kCloneType},
         .cost = StatedCost{
             .flops = 1e6, .bytes = 512, .workspace_bytes = kScratch}});
  }
  AddTo(graph, "opt/gradients/last", "F", {fmt::format("f{}", kLength)});
  std::string behind = "opt/gradients/last";
  for (int i = kLength; i >= 1; --i) {
    const std::string name = fmt::format("opt/gradients/b{}", i);
    AddTo(graph, name, "F", {behind, fmt::format("f{}", i)});
    behind = name;
  }
  return graph;
}

class RecomputedPlanTest : public ::testing::Test {
 protected:
  RecomputedPlanTest() {
    clones_ = PlanRecompute({.recompute = {.policy = RecomputePolicy::kSqrt}},
                            ops_, graph_)
                  .value();
    edited_ = WithClones(clones_, ops_, graph_).value();
    KernelMap kernels;  // the graph states what they need
    while (kernels.size() < edited_.num_nodes()) kernels.push_back(nullptr);
    workspace_ = WorkspaceBytes(edited_, kernels);
  }

  absl::StatusOr<ExecutionPlan> Compile(
      const IdMap<NodeId, int64_t>& workspace) const {
    const CompileOptions options = {.workspace_bytes = workspace};
    const absl::StatusOr<Schedule> schedule =
        ChooseSchedule(edited_, ops_, {}, ScheduleKind::kAuto, options);
    if (!schedule.ok()) return schedule.status();
    return CompilePlan(edited_, ops_, *schedule, options);
  }

  absl::Status Verify(const ExecutionPlan& plan) const {
    return VerifyPlan(plan, edited_, ops_, &workspace_);
  }

  std::vector<NodeId> Clones() const {
    std::vector<NodeId> clones;
    for (size_t i = graph_.num_nodes(); i < edited_.num_nodes(); ++i) {
      clones.emplace_back(i);
    }
    return clones;
  }

  const OpRegistry ops_ = CloneOps();
  const Graph graph_ = HeavyChain();
  RecomputePlan clones_;
  Graph edited_;
  IdMap<NodeId, int64_t> workspace_;  // that the kernels need
};

TEST_F(RecomputedPlanTest, ACloneWithoutScratchIsNoticed) {
  ASSERT_GE(Clones().size(), 3u);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan good, Compile(workspace_));
  EXPECT_THAT(Verify(good), IsOk());
  for (const NodeId clone : Clones()) {
    EXPECT_EQ(workspace_[clone], kScratch);
    IdMap<NodeId, int64_t> without = workspace_;
    without[clone] = 0;
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(without));
    EXPECT_THAT(
        Verify(plan),
        StatusIs(absl::StatusCode::kInternal,
                 HasSubstr(fmt::format("({}) has 0 bytes of scratch, not {}",
                                       edited_.node(clone).name, kScratch))));
  }
}

// The last reader of a clone writes its own output into the clone's bytes.
TEST_F(RecomputedPlanTest, ACloneThatIsFreedAStepTooEarlyIsNoticed) {
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan good, Compile(workspace_));
  int retained = 0;  // also for another reader than the next clone
  for (const NodeId clone : Clones()) {
    SCOPED_TRACE(edited_.node(clone).name);
    const BufferId bytes = good.buffer_of[edited_.output(clone)];
    const std::vector<StepId> uses = testing::UsesOf(good, bytes);
    retained += uses.size() > 2;
    ExecutionPlan plan = good;
    const BufferId next = plan.steps[uses.back()].outputs[0];
    plan.buffers[next].offset = plan.buffers[bytes].offset;
    EXPECT_THAT(Verify(plan),
                StatusIs(absl::StatusCode::kInternal,
                         HasSubstr("share bytes but are not ordered")));
  }
  EXPECT_GE(retained, 2);
}

}  // namespace
}  // namespace spillway
