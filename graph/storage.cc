#include "graph/storage.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/input_groups.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// The input that output `output` aliases; invalid if the output has new bytes.
ValueId AliasedValue(const Node& node, const OpDef& def, size_t output) {
  const int input = AliasedInput(def, static_cast<int>(output));
  const auto slot = static_cast<size_t>(input);
  if (input < 0 || slot >= node.inputs.size()) return {};
  return node.inputs[slot];
}

// `aliased`: the value that each value aliases (invalid: none). Returns the
// value at the end of each such chain.
IdMap<ValueId, ValueId> FindRoots(const IdMap<ValueId, ValueId>& aliased) {
  IdMap<ValueId, ValueId> roots(aliased.size());
  std::vector<ValueId> path;
  for (const ValueId start : aliased.ids()) {
    path.clear();
    ValueId value = start;
    while (!roots[value].is_valid()) {
      roots[value] = value;  // for now; ends the walk on a cycle
      path.push_back(value);
      if (aliased[value].is_valid()) value = aliased[value];
    }
    for (const ValueId other : path) roots[other] = roots[value];
  }
  return roots;
}

}  // namespace

StorageMap StorageMap::WithoutAliases(const Graph& graph) {
  StorageMap map;
  map.is_pure_alias_.resize(graph.num_nodes(), false);
  map.values_.reserve(graph.num_values());
  for (const ValueId value : graph.values().ids()) map.values_.push_back(value);
  for (const ValueId& value : map.values_) {
    map.of_.push_back(
        map.storages_.push_back({.root = value, .values = {&value, 1}}));
  }
  return map;
}

class StorageMap::Finder {
 public:
  Finder(const Graph& graph, const OpRegistry& ops)
      : graph_(graph), aliased_(graph.num_values()) {
    defs_.reserve(graph.num_nodes());
    for (const Node& node : graph.nodes()) {
      defs_.push_back(ops.Find(node.op));
    }
  }

  StorageMap Find() {
    FindAliases();
    roots_ = FindRoots(aliased_);
    AddStorages();
    AddValues();
    AddOverwriters();
    return std::move(map_);
  }

 private:
  void FindAliases() {
    map_.is_pure_alias_.resize(graph_.num_nodes(), false);
    for (const Node& node : graph_.nodes()) {
      const OpDef* def = defs_[node.id];
      if (def == nullptr || def->alias.empty()) continue;
      bool is_pure = IsPureAlias(def);
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        aliased_[node.outputs[i]] = AliasedValue(node, *def, i);
        is_pure &= aliased_[node.outputs[i]].is_valid();
      }
      map_.is_pure_alias_[node.id] = is_pure;
    }
  }

  void AddStorages() {
    map_.of_.resize(graph_.num_values());
    for (const ValueId value : roots_.ids()) {
      if (roots_[value] != value) continue;
      const OpDef* def = defs_[graph_.value(value).producer];
      map_.of_[value] = map_.storages_.push_back(
          {.root = value, .is_resident = def != nullptr && def->resident});
    }
  }

  // Sorts the values by storage, the root of each storage first.
  void AddValues() {
    std::vector<size_t> next(map_.size() + 1, 0);  // place in values_
    for (const ValueId value : roots_.ids()) {
      map_.of_[value] = map_.of_[roots_[value]];
      ++next[map_.of_[value].index() + 1];
    }
    std::partial_sum(next.begin(), next.end(), next.begin());
    map_.values_.resize(graph_.num_values());
    for (size_t i = 0; i < map_.size(); ++i) {
      Storage& storage = map_.storages_[StorageId(i)];
      storage.values =
          std::span(map_.values_).subspan(next[i], next[i + 1] - next[i]);
      map_.values_[next[i]++] = storage.root;
    }
    for (const ValueId value : roots_.ids()) {
      if (roots_[value] == value) continue;
      const StorageId id = map_.of_[value];
      map_.values_[next[id.index()]++] = value;
      map_.storages_[id].has_pure_aliases_only &=
          map_.is_pure_alias_[graph_.value(value).producer];
    }
  }

  void AddOverwriters() {
    for (const Node& node : graph_.nodes()) {
      const OpDef* def = defs_[node.id];
      if (def == nullptr || def->mutates.empty()) continue;
      for (const int slot : MutatedInputs(*def, node.inputs.size())) {
        if (static_cast<size_t>(slot) >= node.inputs.size()) continue;
        const ValueId value = node.inputs[static_cast<size_t>(slot)];
        std::vector<NodeId>& nodes =
            map_.storages_[map_.of_[value]].overwriters;
        if (nodes.empty() || nodes.back() != node.id) nodes.push_back(node.id);
      }
    }
  }

  const Graph& graph_;
  IdMap<NodeId, const OpDef*> defs_;
  IdMap<ValueId, ValueId> aliased_;  // the value that it aliases
  IdMap<ValueId, ValueId> roots_;
  StorageMap map_;
};

StorageMap StorageMap::Of(const Graph& graph, const OpRegistry& ops) {
  return Finder(graph, ops).Find();
}

std::vector<NodeId> ReadersOf(const Graph& graph, const StorageMap& storages,
                              const Storage& storage) {
  std::vector<NodeId> readers;
  for (const ValueId value : storage.values) {
    ForEachReader(graph, value, [&](NodeId reader) {
      if (!storages.is_pure_alias(reader)) readers.push_back(reader);
    });
  }
  if (storage.values.size() == 1) return readers;  // in order already
  std::ranges::sort(readers);
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  return readers;
}

bool IsResidentNode(const Node& node, const OpRegistry& ops) {
  const OpDef* def = ops.Find(node.op);
  return def != nullptr && def->resident;
}

bool IsPureAlias(const OpDef* def) {
  return def != nullptr && !def->alias.empty() && def->mutates.empty() &&
         def->alias.size() == def->outputs.size();
}

std::string ResidentKey(const Node& node, std::string_view constant_prefix) {
  return node.op == kVariable ? node.name
                              : std::string(constant_prefix) + node.name;
}

}  // namespace spillway
