// Version 1 on networks whose last pooled activation is flattened: its bytes
// are read under two names.
#include "models/zoo.h"

#include <algorithm>
#include <string>
#include <vector>

#include "executor/plan/choose_schedule.h"
#include "executor/plan/compile.h"
#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "graph/storage.h"
#include "graph/well_known_ops.h"
#include "lms/lms.h"
#include "tests/support/status_matchers.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

struct TrainingStep {
  Graph graph = {};
  std::vector<ValueId> fetches = {};
};

absl::StatusOr<TrainingStep> MakeStep(const std::string& model) {
  GraphBuilder g(StandardOps());
  SPILLWAY_ASSIGN_OR_RETURN(const ModelGraph network,
                            BuildModel(g, model, {.batch_size = 8}));
  Minimize(g.Scope("optimizer"), network.loss, Sgd{});
  TrainingStep step = {.fetches = {network.loss.id()}};
  SPILLWAY_ASSIGN_OR_RETURN(step.graph, std::move(g).Build());
  return step;
}

absl::StatusOr<ExecutionPlan> PlanOf(const Graph& graph,
                                     const std::vector<ValueId>& fetches) {
  const OpRegistry& ops = StandardOps();
  const IdMap<NodeId, bool> keep = NodesToRun(graph, ops, fetches);
  CompileOptions options = {.fetches = fetches};
  SPILLWAY_ASSIGN_OR_RETURN(const Schedule creation,
                            MakeSchedule(graph, ops, keep));
  AddResidents(graph, ops, creation, "", options.residents);
  SPILLWAY_ASSIGN_OR_RETURN(
      const Schedule schedule,
      ChooseSchedule(graph, ops, keep, ScheduleKind::kMemory, options));
  return CompilePlan(graph, ops, schedule, options);
}

bool Uses(const Step& step, BufferId buffer) {
  return std::ranges::find(step.inputs, buffer) != step.inputs.end() ||
         std::ranges::find(step.outputs, buffer) != step.outputs.end();
}

// Swapped tensors whose bytes are used, under any name, both before and after
// the loss, so that they stay resident at the turn from the forward to the
// backward part.
std::vector<std::string> StayingTensors(const Graph& edited,
                                        const ExecutionPlan& plan,
                                        ValueId loss) {
  std::vector<std::string> staying;
  for (const Node& out : edited.nodes()) {
    if (out.op != kSwapOut) continue;
    const BufferId buffer = plan.buffer_of[out.inputs[0]];
    bool is_behind_loss = false;
    bool was_used = false;
    bool is_used = false;
    for (const Step& step : plan.steps) {
      const Node& node = edited.node(step.node);
      is_behind_loss |= node.id == edited.value(loss).producer;
      if (node.op == kSwapOut || !Uses(step, buffer)) continue;
      (is_behind_loss ? is_used : was_used) = true;
    }
    if (was_used && is_used) {
      staying.push_back(edited.ValueName(out.inputs[0]));
    }
  }
  return staying;
}

class LmsZooTest : public ::testing::TestWithParam<std::string> {};

TEST_P(LmsZooTest, TheLastPooledTensorLeavesAndThePeakIsNotAboveTheOriginals) {
  ASSERT_OK_AND_ASSIGN(const TrainingStep step, MakeStep(GetParam()));
  LmsOptions options{.mode = LmsMode::kV1};
  Graph ours = step.graph;
  ASSERT_OK_AND_ASSIGN(const LmsReport report, ApplyLms(options, ours));
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, PlanOf(ours, step.fetches));
  const auto is_pool = ::testing::Contains(::testing::HasSubstr("pool"));
  EXPECT_THAT(StayingTensors(ours, plan, step.fetches[0]),
              ::testing::Not(is_pool));

  options.compat = true;
  Graph original = step.graph;
  ASSERT_OK_AND_ASSIGN(const LmsReport before, ApplyLms(options, original));
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan theirs,
                       PlanOf(original, step.fetches));
  fmt::print("{}: {} bytes, {} moved; the original's choice {} bytes, {}\n",
             GetParam(), plan.device_bytes, report.out_bytes + report.in_bytes,
             theirs.device_bytes, before.out_bytes + before.in_bytes);
  EXPECT_LE(plan.device_bytes, theirs.device_bytes);
  // The original does not count the reader of the flattened alias.
  EXPECT_THAT(StayingTensors(original, theirs, step.fetches[0]), is_pool);
}

INSTANTIATE_TEST_SUITE_P(Models, LmsZooTest,
                         ::testing::Values("alexnet", "lenet", "mnist_deep",
                                           "vgg16"));

}  // namespace
}  // namespace spillway
