#include "lms/v2/candidates.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "fmt/format.h"
#include "lms/storage_readers.h"
#include "lms/v2/options.h"

namespace spillway {
namespace {

std::vector<NodeId> DistantReaders(const V2Context& context, ValueId value) {
  const Graph& graph = context.view.graph();
  const int32_t level = context.levels.of(graph.value(value).producer);
  std::vector<NodeId> readers =
      ReadersOf(graph, context.storages, context.storages.of(value));
  std::erase_if(readers, [&](NodeId reader) {
    return context.levels.of(reader) - level <=
               context.options.v2.swapout_threshold ||
           !context.roles.may_be_reader[reader];
  });
  return readers;
}

// Readers whose levels differ by at most `groupby` from one to the next share a
// swap-in.
std::vector<SwapIn> Group(std::vector<NodeId> readers, int64_t groupby,
                          const V2Levels& levels) {
  if (groupby > 0) {
    std::ranges::stable_sort(readers, {},
                             [&](NodeId id) { return levels.of(id); });
  }
  std::vector<SwapIn> groups;
  int64_t last_level = 0;
  for (const NodeId reader : readers) {
    const int64_t level = levels.of(reader);
    if (groups.empty() || groupby <= 0 || level - last_level > groupby) {
      groups.emplace_back();
    }
    groups.back().readers.push_back(reader);
    last_level = level;
  }
  for (SwapIn& group : groups) std::ranges::sort(group.readers);
  return groups;
}

// Each reader gets its own swap-in if only the sync rules can start a swap-in,
// because they serve one reader.
int64_t GroupBy(const LmsOptions& options) {
  return SyncsSwapIns(options) && !options.compat ? 0
                                                  : options.v2.swapin_groupby;
}

int32_t LastLevel(const std::vector<NodeId>& nodes, const V2Levels& levels) {
  int32_t last = -1;
  for (const NodeId id : nodes) last = std::max(last, levels.of(id));
  return last;
}

// The level of the last node that reads the device copy in any case.
int32_t StaysUntil(const V2Context& context, const Swap& swap) {
  std::vector<NodeId> direct =
      DirectReaders(context.view.graph(), context.storages, swap);
  direct.push_back(context.view.graph().value(swap.value).producer);
  return LastLevel(direct, context.levels);
}

}  // namespace

std::vector<Swap> FindV2Candidates(const V2Context& context,
                                   std::vector<DroppedCandidate>& dropped) {
  const Graph& graph = context.view.graph();
  std::vector<Swap> swaps;
  for (const Node& node : graph.nodes()) {
    if (!context.roles.may_be_source[node.id]) continue;
    for (const ValueId value : node.outputs) {
      if (graph.type(value).shape.rank() < 2) continue;
      if (!MaySwap(context.storages, value)) continue;
      std::vector<NodeId> readers = DistantReaders(context, value);
      if (readers.empty()) continue;
      if (graph.type(value).num_bytes() <
          context.options.size_threshold_bytes) {
        dropped.push_back({value, "smaller than the size threshold"});
        continue;
      }
      Swap swap{.value = value};
      swap.swap_ins =
          Group(std::move(readers), GroupBy(context.options), context.levels);
      for (SwapIn& swap_in : swap.swap_ins) {
        swap_in.aliases =
            AliasesReadBy(graph, context.storages, context.storages.of(value),
                          swap_in.readers);
      }
      swaps.push_back(std::move(swap));
    }
  }
  return swaps;
}

NodeId EarliestReader(const SwapIn& swap_in, const V2Levels& levels) {
  return *std::ranges::min_element(swap_in.readers, {}, [&](NodeId id) {
    return std::pair(levels.of(id), id);
  });
}

void KeepUsefulSwapIns(const V2Context& context, Swap& swap,
                       std::vector<DroppedCandidate>& dropped) {
  const V2Levels& levels = context.levels;
  int32_t stays_until = StaysUntil(context, swap);
  // Swap-ins without a trigger come first: their start is at level -1.
  const auto start = [&](const SwapIn& swap_in) {
    return LastLevel(swap_in.triggers, levels);
  };
  std::ranges::stable_sort(swap.swap_ins, {}, start);
  size_t useless = 0;
  for (const SwapIn& swap_in : swap.swap_ins) {
    if (start(swap_in) > stays_until) break;
    const NodeId reader = EarliestReader(swap_in, levels);
    dropped.push_back(
        {swap.value,
         fmt::format("no {} before {}",
                     swap_in.triggers.empty() ? "trigger" : "useful gap",
                     context.view.graph().node(reader).name)});
    stays_until = std::max(stays_until, LastLevel(swap_in.readers, levels));
    ++useless;
  }
  swap.swap_ins.erase(swap.swap_ins.begin(),
                      swap.swap_ins.begin() + static_cast<int64_t>(useless));
}

}  // namespace spillway
