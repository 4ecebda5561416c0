// Graph passes on generated training graphs of 1,000 to 100,000 nodes: how
// their time grows with the graph.
#include <benchmark/benchmark.h>

#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/builder.h"
#include "graph/schedule.h"
#include "lms/lms.h"
#include "models/layers.h"
#include "ops/all_ops.h"
#include "training/optimizer.h"

namespace spillway {
namespace {

constexpr int64_t kLeastNodes = 1'000;
constexpr int64_t kMostNodes = 100'000;

// A chain of residual blocks of tiny convolutions with its backward phase and
// update.
absl::StatusOr<Graph> ResidualChain(int64_t blocks) {
  GraphBuilder g(StandardOps());
  const Tensor images = g.Placeholder("images", DType::kFloat32, {1, 4, 4, 2});
  const Tensor labels = g.Placeholder("labels", DType::kInt32, {1});
  Tensor x = images;
  for (int64_t i = 0; i < blocks; ++i) {
    const NameScope scope = g.Scope(fmt::format("block{}", i));
    const Tensor side = Conv2D(
        scope, x,
        {.filters = 2, .kernel = {3, 3}, .activation = Activation::kRelu});
    x = Add(scope, x, side);
  }
  const Tensor logits =
      Dense(g.Scope("logits"), Flatten(g.Scope("logits"), x), {.units = 2});
  const Tensor loss =
      SparseSoftmaxCrossEntropy(g.Scope("loss"), logits, labels);
  Minimize(g.Scope("optimizer"), loss, Sgd{});
  return std::move(g).Build();
}

// A chain of at least `nodes` nodes, and hardly more.
Graph GraphOfSize(int64_t nodes) {
  constexpr int64_t kProbe = 16;
  const auto size = [](int64_t blocks) {
    return static_cast<int64_t>(ResidualChain(blocks).value().num_nodes());
  };
  const int64_t a_block = (size(2 * kProbe) - size(kProbe)) / kProbe;
  return ResidualChain(nodes / a_block + 1).value();
}

void SetNodes(benchmark::State& state, const Graph& graph) {
  state.counters["nodes"] = static_cast<double>(graph.num_nodes());
  state.SetComplexityN(static_cast<int64_t>(graph.num_nodes()));
}

void LmsEditV1(benchmark::State& state) {
  const Graph graph = GraphOfSize(state.range(0));
  for ([[maybe_unused]] const auto& iteration : state) {
    state.PauseTiming();
    Graph edited = graph;
    state.ResumeTiming();
    const auto report = ApplyLms({.mode = LmsMode::kV1}, edited);
    CHECK(report.ok() && report->swap_tensors > 0);
  }
  SetNodes(state, graph);
}
BENCHMARK(LmsEditV1)
    ->RangeMultiplier(10)
    ->Range(kLeastNodes, kMostNodes)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

void ScheduleNodes(benchmark::State& state) {
  const Graph graph = GraphOfSize(state.range(0));
  for ([[maybe_unused]] const auto& iteration : state) {
    const auto schedule = MakeSchedule(graph, StandardOps(), {});
    CHECK(schedule.ok());
    benchmark::DoNotOptimize(schedule->order.data());
  }
  SetNodes(state, graph);
}
BENCHMARK(ScheduleNodes)
    ->RangeMultiplier(10)
    ->Range(kLeastNodes, kMostNodes)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

}  // namespace
}  // namespace spillway
