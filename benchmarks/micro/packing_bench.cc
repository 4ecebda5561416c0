// The packer on synthetic training steps, with all tensors kept on the device
// or all swapped, and on tasks whose only optimal placement has no hole.
#include <benchmark/benchmark.h>

#include <vector>

#include "executor/memory/static_packing.h"
#include "tests/support/packing_instances.h"

namespace spillway {
namespace {

constexpr int64_t kAlignment = 256;

void Pack(benchmark::State& state, const std::vector<PackingItem>& items,
          int64_t alignment) {
  Packing packing;
  for ([[maybe_unused]] const auto& iteration : state) {
    packing = PackBuffers(items, {.alignment = alignment});
  }
  state.counters["items"] = static_cast<double>(items.size());
  state.counters["over_bound"] =
      static_cast<double>(packing.height_bytes) /
          static_cast<double>(packing.lower_bound_bytes) -
      1;
}

void Chain(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  Pack(state, testing::ChainItems(1, size), kAlignment);
}
BENCHMARK(Chain)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(
    benchmark::kMillisecond);

void SwappedChain(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  Pack(state, testing::SwappedChainItems(1, size), kAlignment);
}
BENCHMARK(SwappedChain)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond);

void Guillotine(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  Pack(state, testing::GuillotineItems({.seed = 1, .size = size}), 1);
}
BENCHMARK(Guillotine)->Arg(200)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spillway
