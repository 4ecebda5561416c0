// Graph passes on training graphs: generated ones of 1,000 to 1,000,000 nodes,
// to show how their time scales with the graph, and networks of the
// zoo.
//
// peak_rss_bytes is the most memory that the process ever held, including the
// graph and earlier benchmarks: run one benchmark alone (--benchmark_filter) to
// read it.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "base/check.h"
#include "benchmarks/micro/generated_graphs.h"
#include "benchmarks/micro/run_registered.h"
#include "fmt/format.h"
#include "graph/order/schedule.h"
#include "lms/lms.h"
#include "ops/all_ops.h"

namespace spillway {
namespace {

constexpr int64_t kLeastNodes = 1'000;
constexpr int64_t kMostNodes = 1'000'000;
constexpr int64_t kBatch = 32;

// The most memory that this process has held so far.
double PeakRssBytes() {
  rusage usage = {};
  SPILLWAY_CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

void SetNodes(benchmark::State& state, const Graph& graph) {
  state.counters["nodes"] = static_cast<double>(graph.num_nodes());
  state.counters["peak_rss_bytes"] = PeakRssBytes();
  state.SetComplexityN(static_cast<int64_t>(graph.num_nodes()));
}

void EditEachTime(benchmark::State& state, const Graph& graph,
                  const LmsOptions& options) {
  for ([[maybe_unused]] const auto& iteration : state) {
    state.PauseTiming();
    Graph edited = graph;
    state.ResumeTiming();
    const auto report = ApplyLms(options, edited);
    SPILLWAY_CHECK(report.ok() && report->added_ops > 0);
    state.PauseTiming();
    edited = Graph();  // its destruction is not part of the edit
    state.ResumeTiming();
  }
  SetNodes(state, graph);
}

void LmsEdit(benchmark::State& state, const LmsOptions& options,
             Topology topology) {
  EditEachTime(state, GraphOfSize(topology, state.range(0)), options);
}

void LmsEditNetwork(benchmark::State& state, const LmsOptions& options,
                    const std::string& model) {
  EditEachTime(state, NetworkGraph(model, kBatch), options);
}

void ScheduleNodes(benchmark::State& state, Topology topology) {
  const Graph graph = GraphOfSize(topology, state.range(0));
  for ([[maybe_unused]] const auto& iteration : state) {
    const auto schedule = MakeSchedule(graph, StandardOps(), {});
    SPILLWAY_CHECK(schedule.ok());
    benchmark::DoNotOptimize(schedule->order.data());
  }
  SetNodes(state, graph);
}

struct Edit {
  const char* name = "";
  LmsOptions options = {};
};

std::vector<Edit> Edits() {
  return {{"v1", SwapAll(LmsMode::kV1)},
          {"v2", SwapAll(LmsMode::kV2)},
          {"cheap", {.recompute = {.policy = RecomputePolicy::kCheap}}},
          {"sqrt", {.recompute = {.policy = RecomputePolicy::kSqrt}}}};
}

void RegisterNetworks(const Edit& edit) {
  for (const char* model : {"resnet50", "resnet152", "googlenet"}) {
    benchmark::RegisterBenchmark(
        fmt::format("LmsEditNetwork/{}/{}", edit.name, model).c_str(),
        LmsEditNetwork, edit.options, std::string(model))
        ->Unit(benchmark::kMillisecond);
  }
}

void RegisterSizes(benchmark::internal::Benchmark* sizes) {
  sizes->RangeMultiplier(10)
      ->Range(kLeastNodes, kMostNodes)
      ->Unit(benchmark::kMillisecond)
      ->Complexity();
}

void RegisterAll() {
  for (const Edit& edit : Edits()) RegisterNetworks(edit);
  for (const Topology topology : {Topology::kChain, Topology::kResidual}) {
    const std::string name = Name(topology);
    for (const Edit& edit : Edits()) {
      // Nothing in the chain is cheap enough to be computed again.
      const bool is_cheap =
          edit.options.recompute.policy == RecomputePolicy::kCheap;
      if (is_cheap && topology == Topology::kChain) continue;
      RegisterSizes(benchmark::RegisterBenchmark(
          fmt::format("LmsEdit/{}/{}", edit.name, name).c_str(), LmsEdit,
          edit.options, topology));
    }
    RegisterSizes(benchmark::RegisterBenchmark(
        fmt::format("ScheduleNodes/{}", name).c_str(), ScheduleNodes,
        topology));
  }
}

}  // namespace
}  // namespace spillway

int main(int argc, char** argv) {
  spillway::RegisterAll();
  return spillway::RunRegistered(argc, argv);
}
