// Which values share bytes. LMS, orders, passes, planner and tuner all use this
// analysis.
//
// A storage is a run of bytes that a node makes and that all values that alias
// it share (OpDef::alias: Identity, Reshape, the updated variable of an Apply
// op):
//
//   x = Conv2D(...)       storage 7: root x, values {x, y, z}
//   y = Reshape(x)
//   z = Identity(y)
//
// Buffers that outputs take over from dying inputs (OpDef::in_place) are the
// planner's choice and ignored here. An op that is not registered (plan-only)
// makes new bytes for each output.
#ifndef SPILLWAY_GRAPH_STORAGE_H_
#define SPILLWAY_GRAPH_STORAGE_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

using StorageId = StrongId<struct StorageTag>;

struct Storage {
  ValueId root = {};  // the value whose node makes the bytes
  // Root first, then in order of ids. Borrowed from the map.
  std::span<const ValueId> values = {};
  // Made by a resident op (Variable, Const): outlives the step or never
  // changes.
  bool is_resident = false;
  // Every value but the root comes from a pure alias (IsPureAlias).
  bool has_pure_aliases_only = true;
  std::vector<NodeId> overwriters = {};  // nodes that mutate it, in id order

  // Whether a copy made after the root's node has run holds what every reader
  // expects, and the other values of the storage can be recreated from it.
  bool can_be_copied() const {
    return !is_resident && has_pure_aliases_only && overwriters.empty();
  }
};

// Movable but not copyable: a Storage borrows from its map.
class StorageMap {
 public:
  // Storages in order of their roots' ids. Cost: O(nodes + edges). On a cycle
  // of aliases, which no valid graph has, one value counts as the root.
  static StorageMap Of(const Graph& graph, const OpRegistry& ops);

  // Each value has its own storage, without overwriters and not resident: for
  // code that is to ignore what the ops do (LMS in compat mode).
  static StorageMap WithoutAliases(const Graph& graph);

  StorageMap(StorageMap&&) = default;
  StorageMap& operator=(StorageMap&&) = default;

  StorageId id_of(ValueId value) const { return of_[value]; }
  const Storage& storage(StorageId id) const { return storages_[id]; }
  const Storage& of(ValueId value) const { return storages_[of_[value]]; }
  size_t size() const { return storages_.size(); }
  const IdMap<StorageId, Storage>& storages() const { return storages_; }

  // The node only gives existing bytes another name.
  bool is_pure_alias(NodeId id) const { return is_pure_alias_[id]; }

 private:
  class Finder;
  StorageMap() = default;

  IdMap<ValueId, StorageId> of_;
  IdMap<StorageId, Storage> storages_;
  std::vector<ValueId> values_;  // of storage 0, of storage 1, ...
  IdMap<NodeId, bool> is_pure_alias_;
};

// The nodes that use any value of the storage, each once, by id, without pure
// aliases.
std::vector<NodeId> ReadersOf(const Graph& graph, const StorageMap& storages,
                              const Storage& storage);

// For nodes whose output outlives a step (Variable, Const): no kernel runs.
bool IsResidentNode(const Node& node, const OpRegistry& ops);

// For ops whose outputs are all an input's bytes and that write nothing
// (Identity, Reshape): no kernel runs. False for null.
bool IsPureAlias(const OpDef* def);

// The key under which programs of one session share the bytes of a resident
// node: a Variable's own name; a Const's name after `constant_prefix`, since
// constants of different programs differ.
std::string ResidentKey(const Node& node, std::string_view constant_prefix);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_STORAGE_H_
