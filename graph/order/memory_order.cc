#include "graph/order/memory_order.h"

#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/copies.h"
#include "graph/storage.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// A storage and its memory cost.
struct Bytes {
  int64_t bytes = 0;  // 0 if not counted: resident, or on the host
  bool is_fetched = false;
  // Each once. Aliases are included, since they keep the bytes live too.
  std::vector<NodeId> readers = {};
};

// Which nodes make and read which bytes.
struct Uses {
  IdMap<StorageId, Bytes> storages = {};
  IdMap<NodeId, std::vector<StorageId>> made_by = {};
  IdMap<NodeId, std::vector<StorageId>> read_by = {};  // each once
};

int32_t CountEdges(const MemoryOrderInputs& inputs, NodeId id) {
  const Node& node = inputs.graph.node(id);
  return static_cast<int32_t>(node.inputs.size() + node.control_inputs.size());
}

int64_t BytesOnDevice(const Graph& graph, const Storage& storage) {
  const Node& node = graph.producer(storage.root);
  const bool is_on_device =
      OutputsAt(node) == Placement::kDevice && !storage.is_resident;
  return is_on_device ? graph.type(storage.root).num_bytes() : 0;
}

Uses FindUses(const MemoryOrderInputs& inputs) {
  const Graph& graph = inputs.graph;
  const StorageMap storages = StorageMap::Of(graph, inputs.registry);
  Uses uses;
  uses.made_by.resize(graph.num_nodes());
  uses.read_by.resize(graph.num_nodes());
  for (const Storage& storage : storages.storages()) {
    const StorageId id =
        uses.storages.push_back({.bytes = BytesOnDevice(graph, storage)});
    uses.made_by[graph.value(storage.root).producer].push_back(id);
  }
  for (const NodeId id : inputs.schedule.order) {
    for (const ValueId input : graph.node(id).inputs) {
      const StorageId storage = storages.id_of(input);
      std::vector<NodeId>& readers = uses.storages[storage].readers;
      if (!readers.empty() && readers.back() == id) continue;
      readers.push_back(id);
      uses.read_by[id].push_back(storage);
    }
  }
  for (const ValueId fetch : inputs.fetches) {
    uses.storages[storages.id_of(fetch)].is_fetched = true;
  }
  return uses;
}

// Nodes that may be placed next, smallest key first. A node whose key changed
// is pushed again; its older entries are skipped.
class ReadyQueue {
 public:
  // Rank, live bytes that placing the node adds, and a tie-break.
  using Key = std::tuple<int, int64_t, int32_t>;

  explicit ReadyQueue(size_t num_nodes) : keys_(num_nodes), state_(num_nodes) {}

  bool IsReady(NodeId id) const { return state_[id] == State::kReady; }

  void Push(NodeId id, const Key& key) {
    if (IsReady(id) && keys_[id] == key) return;
    state_[id] = State::kReady;
    keys_[id] = key;
    queue_.emplace(key, id);
  }

  // The next node, now placed; invalid if no node is ready.
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
        uses_(FindUses(inputs)),
        missing_(inputs.graph.num_nodes(), 0),
        ready_(inputs.graph.num_nodes()) {
    for (const Bytes& storage : uses_.storages) {
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
    for (const StorageId made : uses_.made_by[id]) {
      const Bytes& storage = uses_.storages[made];
      if (!storage.readers.empty() || storage.is_fetched) {
        bytes += storage.bytes;
      }
    }
    for (const StorageId read : uses_.read_by[id]) {
      const Bytes& storage = uses_.storages[read];
      if (unread_[read] == 1 && !storage.is_fetched) bytes -= storage.bytes;
    }
    return bytes;
  }

  // The last reader of some bytes frees them, so its key improves.
  void Read(NodeId id) {
    for (const StorageId read : uses_.read_by[id]) {
      if (--unread_[read] != 1) continue;
      for (const NodeId reader : uses_.storages[read].readers) {
        if (ready_.IsReady(reader)) Push(reader);
      }
    }
  }

  const MemoryOrderInputs& inputs_;
  const Uses uses_;
  IdMap<NodeId, int32_t> missing_;    // edges that hold the node back
  IdMap<StorageId, int32_t> unread_;  // readers that are not placed yet
  ReadyQueue ready_;
};

class BackwardGreedy {
 public:
  explicit BackwardGreedy(const MemoryOrderInputs& inputs)
      : inputs_(inputs),
        uses_(FindUses(inputs)),
        missing_(inputs.graph.num_nodes(), 0),
        ready_(inputs.graph.num_nodes()) {
    for (const Bytes& storage : uses_.storages) {
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

  // Before the node runs, its outputs do not exist, but its inputs do.
  int64_t Growth(NodeId id) const {
    int64_t bytes = 0;
    for (const StorageId read : uses_.read_by[id]) {
      if (!is_alive_[read]) bytes += uses_.storages[read].bytes;
    }
    for (const StorageId made : uses_.made_by[id]) {
      bytes -= uses_.storages[made].bytes;
    }
    return bytes;
  }

  // Other readers of the same bytes add fewer bytes from now on.
  void KeepAlive(NodeId id) {
    for (const StorageId read : uses_.read_by[id]) {
      if (is_alive_[read]) continue;
      is_alive_[read] = true;
      for (const NodeId reader : uses_.storages[read].readers) {
        if (ready_.IsReady(reader)) Push(reader);
      }
    }
  }

  const MemoryOrderInputs& inputs_;
  const Uses uses_;
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
