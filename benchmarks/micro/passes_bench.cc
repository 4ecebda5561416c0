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

void EditEachTime(benchmark::State& state, const Graph& graph, LmsMode mode) {
  for ([[maybe_unused]] const auto& iteration : state) {
    state.PauseTiming();
    Graph edited = graph;
    state.ResumeTiming();
    const auto report = ApplyLms(SwapAll(mode), edited);
    SPILLWAY_CHECK(report.ok() && report->swap_tensors > 0);
    state.PauseTiming();
    edited = Graph();  // its destruction is not part of the edit
    state.ResumeTiming();
  }
  SetNodes(state, graph);
}

void LmsEdit(benchmark::State& state, LmsMode mode, Topology topology) {
  EditEachTime(state, GraphOfSize(topology, state.range(0)), mode);
}

void LmsEditNetwork(benchmark::State& state, LmsMode mode,
                    const std::string& model) {
  EditEachTime(state, NetworkGraph(model, kBatch), mode);
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

void RegisterNetworks(LmsMode mode, const char* generation) {
  for (const char* model : {"resnet50", "resnet152", "googlenet"}) {
    benchmark::RegisterBenchmark(
        fmt::format("LmsEditNetwork/{}/{}", generation, model).c_str(),
        LmsEditNetwork, mode, std::string(model))
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
  RegisterNetworks(LmsMode::kV1, "v1");
  RegisterNetworks(LmsMode::kV2, "v2");
  for (const Topology topology : {Topology::kChain, Topology::kResidual}) {
    const std::string name = Name(topology);
    RegisterSizes(
        benchmark::RegisterBenchmark(fmt::format("LmsEdit/v1/{}", name).c_str(),
                                     LmsEdit, LmsMode::kV1, topology));
    RegisterSizes(
        benchmark::RegisterBenchmark(fmt::format("LmsEdit/v2/{}", name).c_str(),
                                     LmsEdit, LmsMode::kV2, topology));
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
