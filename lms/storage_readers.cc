#include "lms/storage_readers.h"

#include <algorithm>
#include <cstddef>

namespace spillway {
namespace {

bool RunsForItsOwnSake(const Graph& graph, NodeId alias) {
  return !graph.control_outputs(alias).empty() ||
         std::ranges::all_of(graph.node(alias).outputs, [&](ValueId output) {
           return graph.uses(output).empty();
         });
}

}  // namespace

StorageMap StoragesFor(const LmsOptions& options, const OpRegistry& ops,
                       const Graph& graph) {
  return options.compat ? StorageMap::WithoutAliases(graph)
                        : StorageMap::Of(graph, ops);
}

bool MaySwap(const StorageMap& storages, ValueId value) {
  const Storage& storage = storages.of(value);
  return storage.root == value && storage.can_be_copied();
}

std::vector<NodeId> DirectReaders(const Graph& graph,
                                  const StorageMap& storages,
                                  const Swap& swap) {
  const Storage& storage = storages.of(swap.value);
  std::vector<NodeId> direct = ReadersOf(graph, storages, storage);
  std::vector<NodeId> moved;
  for (const SwapIn& swap_in : swap.swap_ins) {
    moved.insert(moved.end(), swap_in.readers.begin(), swap_in.readers.end());
  }
  std::ranges::sort(moved);
  std::erase_if(
      direct, [&](NodeId id) { return std::ranges::binary_search(moved, id); });
  if (storage.values.size() == 1) return direct;
  for (const ValueId name : storage.values.subspan(1)) {
    const NodeId alias = graph.value(name).producer;
    if (RunsForItsOwnSake(graph, alias)) direct.push_back(alias);
  }
  std::ranges::sort(direct);
  direct.erase(std::unique(direct.begin(), direct.end()), direct.end());
  return direct;
}

std::vector<NodeId> AliasesBetween(const Graph& graph,
                                   const StorageMap& storages,
                                   const Storage& storage,
                                   std::span<const ValueId> names) {
  std::vector<NodeId> aliases;
  const auto is_of_storage = [&](ValueId value) {
    return storages.of(value).root == storage.root;
  };
  for (ValueId name : names) {
    const size_t known = aliases.size();
    while (name != storage.root) {
      const NodeId alias = graph.value(name).producer;
      if (std::ranges::find(aliases, alias) != aliases.end()) break;
      aliases.push_back(alias);
      name = *std::ranges::find_if(graph.node(alias).inputs, is_of_storage);
    }
    std::reverse(aliases.begin() + static_cast<std::ptrdiff_t>(known),
                 aliases.end());
  }
  return aliases;
}

std::vector<NodeId> AliasesReadBy(const Graph& graph,
                                  const StorageMap& storages,
                                  const Storage& storage,
                                  std::span<const NodeId> readers) {
  if (storage.values.size() == 1) return {};
  std::vector<ValueId> names;
  for (const NodeId reader : readers) {
    for (const ValueId input : graph.node(reader).inputs) {
      if (storages.of(input).root == storage.root) names.push_back(input);
    }
  }
  return AliasesBetween(graph, storages, storage, names);
}

}  // namespace spillway
