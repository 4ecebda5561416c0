#include "graph/memory_order.h"

#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/input_groups.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// Values that are the same bytes: a value, and whatever aliases it.
using StorageId = StrongId<struct StorageTag>;

struct Storage {
  int64_t bytes = 0;  // 0 where it does not count: resident, or on the host
  bool is_fetched = false;
  std::vector<NodeId> readers = {};  // each once
};

// Who owns and who reads which bytes.
struct StorageMap {
  IdMap<StorageId, Storage> storages = {};
  IdMap<NodeId, std::vector<StorageId>> created_by = {};
  IdMap<NodeId, std::vector<StorageId>> read_by = {};  // each once
};

int32_t CountEdges(const MemoryOrderInputs& inputs, NodeId id) {
  const Node& node = inputs.graph.node(id);
  return static_cast<int32_t>(node.inputs.size() + node.control_inputs.size());
}

class StorageFinder {
 public:
  explicit StorageFinder(const MemoryOrderInputs& inputs)
      : inputs_(inputs), storage_of_(inputs.graph.num_values()) {
    map_.created_by.resize(inputs.graph.num_nodes());
    map_.read_by.resize(inputs.graph.num_nodes());
  }

  StorageMap Find() {
    for (const NodeId id : inputs_.schedule.order) {
      const Node& node = inputs_.graph.node(id);
      AddReads(node);
      AddOutputs(node);
    }
    for (const ValueId fetch : inputs_.fetches) {
      map_.storages[storage_of_[fetch]].is_fetched = true;
    }
    return std::move(map_);
  }

 private:
  void AddReads(const Node& node) {
    for (const ValueId input : node.inputs) {
      const StorageId storage = storage_of_[input];
      std::vector<NodeId>& readers = map_.storages[storage].readers;
      if (!readers.empty() && readers.back() == node.id) continue;
      readers.push_back(node.id);
      map_.read_by[node.id].push_back(storage);
    }
  }

  void AddOutputs(const Node& node) {
    const OpDef* def = inputs_.registry.Find(node.op);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      const int input =
          def == nullptr ? -1 : AliasedInput(*def, static_cast<int>(i));
      if (input >= 0) {
        storage_of_[output] =
            storage_of_[node.inputs[static_cast<size_t>(input)]];
        continue;
      }
      const int64_t bytes =
          IsOnDevice(node, def) ? inputs_.graph.type(output).num_bytes() : 0;
      storage_of_[output] = map_.storages.push_back({.bytes = bytes});
      map_.created_by[node.id].push_back(storage_of_[output]);
    }
  }

  static bool IsOnDevice(const Node& node, const OpDef* def) {
    if (node.op == kSwapIn) return true;
    return node.placement == Placement::kDevice &&
           (def == nullptr || !def->resident);
  }

  const MemoryOrderInputs& inputs_;
  IdMap<ValueId, StorageId> storage_of_;
  StorageMap map_;
};

// Nodes that may be placed next, least key first. A node whose key changed is
// pushed again; its older entries are passed over.
class ReadyQueue {
 public:
  // Rank, bytes that placing the node adds to those alive, and a last resort.
  using Key = std::tuple<int, int64_t, int32_t>;

  explicit ReadyQueue(size_t num_nodes) : keys_(num_nodes), state_(num_nodes) {}

  bool IsReady(NodeId id) const { return state_[id] == State::kReady; }

  void Push(NodeId id, const Key& key) {
    if (IsReady(id) && keys_[id] == key) return;
    state_[id] = State::kReady;
    keys_[id] = key;
    queue_.emplace(key, id);
  }

  // The next node, now placed; invalid when there is none.
  NodeId Pop() {
    while (!queue_.empty()) {
      const auto [key, id] = queue_.top();
      queue_.pop();
      if (!IsReady(id) || keys_[id] != key) continue;
      state_[id] = State::kPlaced;
      return id;
    }
    return {};
  }

 private:
  enum class State : uint8_t { kWaiting, kReady, kPlaced };
  using Entry = std::pair<Key, NodeId>;

  IdMap<NodeId, Key> keys_;
  IdMap<NodeId, State> state_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

class ForwardGreedy {
 public:
  explicit ForwardGreedy(const MemoryOrderInputs& inputs)
      : inputs_(inputs),
        map_(StorageFinder(inputs).Find()),
        missing_(inputs.graph.num_nodes(), 0),
        ready_(inputs.graph.num_nodes()) {
    for (const Storage& storage : map_.storages) {
      unread_.push_back(static_cast<int32_t>(storage.readers.size()));
    }
  }

  IdMap<NodeId, int32_t> Run() {
    for (const Node& node : inputs_.graph.nodes()) {
      missing_[node.id] = CountEdges(inputs_, node.id);
      if (inputs_.schedule.contains(node.id) && missing_[node.id] == 0)
        Push(node.id);
    }
    IdMap<NodeId, int32_t> place(inputs_.graph.num_nodes(), 0);
    int32_t next = 0;
    for (NodeId id = ready_.Pop(); id.is_valid(); id = ready_.Pop()) {
      place[id] = next++;
      Read(id);
      ForEachSuccessor(inputs_.graph, id, [&](NodeId after) {
        if (--missing_[after] == 0 && inputs_.schedule.contains(after))
          Push(after);
      });
    }
    return place;
  }

 private:
  void Push(NodeId id) {
    ready_.Push(id, {ReadyRank(inputs_.graph.node(id), inputs_.registry),
                     Growth(id), id.value()});
  }

  int64_t Growth(NodeId id) const {
    int64_t bytes = 0;
    for (const StorageId created : map_.created_by[id]) {
      const Storage& storage = map_.storages[created];
      if (!storage.readers.empty() || storage.is_fetched) {
        bytes += storage.bytes;
      }
    }
    for (const StorageId read : map_.read_by[id]) {
      const Storage& storage = map_.storages[read];
      if (unread_[read] == 1 && !storage.is_fetched) bytes -= storage.bytes;
    }
    return bytes;
  }

  // The last reader of some bytes frees them: it is worth more from now on.
  void Read(NodeId id) {
    for (const StorageId read : map_.read_by[id]) {
      if (--unread_[read] != 1) continue;
      for (const NodeId reader : map_.storages[read].readers) {
        if (ready_.IsReady(reader)) Push(reader);
      }
    }
  }

  const MemoryOrderInputs& inputs_;
  const StorageMap map_;
  IdMap<NodeId, int32_t> missing_;    // edges that hold the node back
  IdMap<StorageId, int32_t> unread_;  // readers that are not placed yet
  ReadyQueue ready_;
};

class BackwardGreedy {
 public:
  explicit BackwardGreedy(const MemoryOrderInputs& inputs)
      : inputs_(inputs),
        map_(StorageFinder(inputs).Find()),
        missing_(inputs.graph.num_nodes(), 0),
        ready_(inputs.graph.num_nodes()) {
    for (const Storage& storage : map_.storages) {
      is_alive_.push_back(storage.is_fetched);
    }
  }

  IdMap<NodeId, int32_t> Run() {
    for (const Node& node : inputs_.graph.nodes()) {
      if (!inputs_.schedule.contains(node.id)) continue;
      ForEachPredecessor(inputs_.graph, node.id,
                         [&](NodeId before) { ++missing_[before]; });
    }
    for (const Node& node : inputs_.graph.nodes()) {
      if (inputs_.schedule.contains(node.id) && missing_[node.id] == 0)
        Push(node.id);
    }
    IdMap<NodeId, int32_t> place(inputs_.graph.num_nodes(), 0);
    auto next = static_cast<int32_t>(inputs_.graph.num_nodes());
    for (NodeId id = ready_.Pop(); id.is_valid(); id = ready_.Pop()) {
      place[id] = --next;
      KeepAlive(id);
      ForEachPredecessor(inputs_.graph, id, [&](NodeId before) {
        if (--missing_[before] == 0) Push(before);
      });
    }
    return place;
  }

 private:
  void Push(NodeId id) { ready_.Push(id, {0, Growth(id), -id.value()}); }

  // Before the node its outputs do not exist, and its inputs do.
  int64_t Growth(NodeId id) const {
    int64_t bytes = 0;
    for (const StorageId read : map_.read_by[id]) {
      if (!is_alive_[read]) bytes += map_.storages[read].bytes;
    }
    for (const StorageId created : map_.created_by[id]) {
      bytes -= map_.storages[created].bytes;
    }
    return bytes;
  }

  // Other readers of the same bytes cost less from now on.
  void KeepAlive(NodeId id) {
    for (const StorageId read : map_.read_by[id]) {
      if (is_alive_[read]) continue;
      is_alive_[read] = true;
      for (const NodeId reader : map_.storages[read].readers) {
        if (ready_.IsReady(reader)) Push(reader);
      }
    }
  }

  const MemoryOrderInputs& inputs_;
  const StorageMap map_;
  IdMap<NodeId, int32_t> missing_;  // kept successors that are not placed yet
  IdMap<StorageId, bool> is_alive_;
  ReadyQueue ready_;
};

}  // namespace

IdMap<NodeId, int32_t> ForwardMemoryOrder(const MemoryOrderInputs& inputs) {
  return ForwardGreedy(inputs).Run();
}

IdMap<NodeId, int32_t> BackwardMemoryOrder(const MemoryOrderInputs& inputs) {
  return BackwardGreedy(inputs).Run();
}

}  // namespace spillway
