// The planner on training steps: order, lifetimes, offsets, waits,
// verification; networks of the zoo, and generated graphs of 1,000 to 100,000
// nodes.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>

#include "base/check.h"
#include "benchmarks/micro/generated_graphs.h"
#include "benchmarks/micro/run_registered.h"
#include "executor/plan/choose_schedule.h"
#include "executor/plan/compile.h"
#include "executor/plan/verify_plan.h"
#include "fmt/format.h"
#include "graph/order/schedule.h"
#include "lms/lms.h"
#include "ops/all_ops.h"

namespace spillway {
namespace {

constexpr int64_t kLeastNodes = 1'000;
constexpr int64_t kMostNodes = 100'000;
constexpr int64_t kBatch = 32;

// Plans without the kernels' scratch, since no kernel is prepared.
void PlanEachTime(benchmark::State& state, Graph graph, LmsMode mode) {
  const auto nodes = static_cast<double>(graph.num_nodes());
  if (mode != LmsMode::kOff)
    SPILLWAY_CHECK(ApplyLms(SwapAll(mode), graph).ok());
  const OpRegistry& ops = StandardOps();
  const IdMap<NodeId, bool> keep = NodesToRun(graph, ops, {});
  CompileOptions options;
  AddResidents(graph, ops, MakeSchedule(graph, ops, keep).value(),
               options.constant_prefix, options.residents);
  for ([[maybe_unused]] const auto& iteration : state) {
    const auto schedule =
        ChooseSchedule(graph, ops, keep, ScheduleKind::kMemory, options);
    SPILLWAY_CHECK(schedule.ok());
    const auto plan = CompilePlan(graph, ops, *schedule, options);
    SPILLWAY_CHECK(plan.ok() && VerifyPlan(*plan, graph, ops).ok());
    state.counters["buffers"] = static_cast<double>(plan->buffers.size());
    state.counters["arena_over_bound"] =
        static_cast<double>(plan->device_bytes) /
        static_cast<double>(plan->device_lower_bound_bytes);
  }
  state.counters["nodes"] = nodes;
  state.SetComplexityN(static_cast<int64_t>(nodes));
}

void PlanNetwork(benchmark::State& state, const std::string& model,
                 LmsMode mode) {
  PlanEachTime(state, NetworkGraph(model, kBatch), mode);
}

void PlanGenerated(benchmark::State& state, Topology topology, LmsMode mode) {
  PlanEachTime(state, GraphOfSize(topology, state.range(0)), mode);
}

void RegisterAll() {
  for (const LmsMode mode : {LmsMode::kOff, LmsMode::kV1, LmsMode::kV2}) {
    const std::string lms(LmsModeName(mode));
    for (const std::string model : {"resnet50", "resnet152", "nasnet"}) {
      benchmark::RegisterBenchmark(
          fmt::format("PlanNetwork/{}/{}", model, lms).c_str(), PlanNetwork,
          model, mode)
          ->Unit(benchmark::kMillisecond);
    }
    for (const Topology topology : {Topology::kChain, Topology::kResidual}) {
      benchmark::RegisterBenchmark(
          fmt::format("PlanGenerated/{}/{}", Name(topology), lms).c_str(),
          PlanGenerated, topology, mode)
          ->RangeMultiplier(10)
          ->Range(kLeastNodes, kMostNodes)
          ->Unit(benchmark::kMillisecond)
          ->Complexity();
    }
  }
}

}  // namespace
}  // namespace spillway

int main(int argc, char** argv) {
  spillway::RegisterAll();
  return spillway::RunRegistered(argc, argv);
}
