// The planner on training steps of the zoo: from a schedule to an offset for
// every byte.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "executor/plan/compile.h"
#include "graph/builder.h"
#include "graph/schedule.h"
#include "lms/lms.h"
#include "models/zoo.h"
#include "ops/all_ops.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

constexpr int64_t kBatch = 32;

struct PlanningTask {
  Graph graph = {};
  Schedule schedule = {};
  CompileOptions options = {};
};

// A training step without kernels' scratch, with every tensor swapped or none.
absl::StatusOr<PlanningTask> MakeTask(const std::string& model, bool swapped) {
  GraphBuilder g(StandardOps(), model);
  ASSIGN_OR_RETURN(const ModelGraph network,
                   BuildModel(g, model, {.batch_size = kBatch}));
  Minimize(g.Scope("optimizer"), network.loss, Sgd{});
  PlanningTask task;
  ASSIGN_OR_RETURN(task.graph, std::move(g).Build());
  if (swapped) {
    RETURN_IF_ERROR(ApplyLms({.mode = LmsMode::kV1}, task.graph).status());
  }
  task.options.fetches = {network.loss.id()};
  const IdMap<NodeId, bool> keep =
      NodesToRun(task.graph, StandardOps(), task.options.fetches);
  ASSIGN_OR_RETURN(task.schedule,
                   MakeSchedule(task.graph, StandardOps(), keep));
  AddResidents(task.graph, StandardOps(), task.schedule,
               task.options.constant_prefix, task.options.residents);
  return task;
}

void Compile(benchmark::State& state, const std::string& model, bool swapped) {
  const PlanningTask task = MakeTask(model, swapped).value();
  for ([[maybe_unused]] const auto& iteration : state) {
    const auto plan =
        CompilePlan(task.graph, StandardOps(), task.schedule, task.options);
    CHECK(plan.ok());
    state.counters["device_bytes"] = static_cast<double>(plan->device_bytes);
    state.counters["buffers"] = static_cast<double>(plan->buffers.size());
  }
  state.counters["nodes"] = static_cast<double>(task.graph.num_nodes());
}
BENCHMARK_CAPTURE(Compile, resnet50, "resnet50", false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Compile, resnet50_swapped, "resnet50", true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Compile, resnet152, "resnet152", false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Compile, resnet152_swapped, "resnet152", true)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spillway
