// Tuning training steps within half of the memory that they take without a
// budget, for a P100 on PCIe: networks of the zoo, and generated graphs of
// 1,000 to 100,000 nodes.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>

#include "base/check.h"
#include "benchmarks/micro/generated_graphs.h"
#include "benchmarks/micro/run_registered.h"
#include "fmt/format.h"
#include "tuner/tune.h"

namespace spillway {
namespace {

constexpr int64_t kLeastNodes = 1'000;
constexpr int64_t kMostNodes = 100'000;
constexpr int64_t kImageSize = 64;

void TuneEachTime(benchmark::State& state, Graph graph) {
  const Program program = {.graph = std::move(graph)};
  StepOptions options = {.profile = "p100_pcie"};
  options.lms.mode = LmsMode::kOff;
  options.device_memory = int64_t{1} << 50;
  const auto free = Tune(program, options);
  SPILLWAY_CHECK(free.ok());
  options.lms.mode = LmsMode::kAuto;
  options.device_memory = free->step.chosen.plan.device_bytes / 2;
  options.host_memory = int64_t{1} << 50;
  for ([[maybe_unused]] const auto& iteration : state) {
    const auto tuned = Tune(program, options);
    SPILLWAY_CHECK(tuned.ok());
    const TunedStep& step = tuned->step;
    const auto taken_ns = static_cast<double>(step.chosen.step.step_ns);
    state.counters["speed_kept"] =
        static_cast<double>(free->step.chosen.step.step_ns) / taken_ns;
    state.counters["over_bound"] =
        taken_ns / static_cast<double>(step.bound.step_ns);
    state.counters["tried"] = static_cast<double>(step.tried.size());
  }
  state.counters["nodes"] = static_cast<double>(program.graph.num_nodes());
}

void RegisterAll() {
  const auto add = [](const std::string& name, auto make) {
    benchmark::RegisterBenchmark(
        name.c_str(),
        [make](benchmark::State& state) { TuneEachTime(state, make()); })
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1);
  };
  for (const std::string model : {"resnet50", "resnet152", "nasnetlarge"}) {
    add(fmt::format("TuneNetwork/{}", model),
        [model] { return NetworkGraph(model, 32); });
  }
  for (const Topology topology : {Topology::kChain, Topology::kResidual}) {
    for (int64_t nodes = kLeastNodes; nodes <= kMostNodes; nodes *= 10) {
      add(fmt::format("TuneGenerated/{}/{}", Name(topology), nodes),
          [=] { return GraphOfSize(topology, nodes, kImageSize); });
    }
  }
}

}  // namespace
}  // namespace spillway

int main(int argc, char** argv) {
  spillway::RegisterAll();
  return spillway::RunRegistered(argc, argv);
}
