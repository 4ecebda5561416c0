#include "graph/order/mutation_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "base/status_macros.h"
#include "graph/order/paths.h"
#include "graph/storage.h"
#include "graph/traverse.h"

namespace spillway {
namespace {

// One node's use of a storage.
struct Access {
  int32_t place = 0;  // in the order
  NodeId node;
  bool overwrites = false;
};

class MutationOrder {
 public:
  MutationOrder(const Graph& graph, const OpRegistry& registry,
                std::span<const NodeId> order)
      : graph_(graph),
        storages_(StorageMap::Of(graph, registry)),
        order_(order) {
    place_.resize(graph.num_nodes(), 0);
    for (size_t i = 0; i < order.size(); ++i) {
      place_[order[i]] = static_cast<int32_t>(i);
    }
  }

  absl::Status Check() {
    for (auto& [storage, accesses] : FindAccesses()) {
      RequirePaths(storages_.storage(storage).root, accesses);
    }
    const std::vector<size_t> missing =
        FindMissingPaths(graph_, order_, paths_);
    return missing.empty() ? absl::OkStatus() : Unordered(missing[0]);
  }

 private:
  // Accesses of each storage that some node overwrites.
  std::map<StorageId, std::vector<Access>> FindAccesses() const {
    std::map<StorageId, std::vector<Access>> accesses;
    for (const StorageId id : storages_.storages().ids()) {
      const Storage& storage = storages_.storage(id);
      if (storage.overwriters.empty()) continue;
      std::vector<Access>& all = accesses[id];
      for (const NodeId overwriter : storage.overwriters) {
        all.push_back({place_[overwriter], overwriter, true});
      }
      for (const ValueId value : storage.values) {
        for (const Use& use : graph_.uses(value)) {
          all.push_back({place_[use.node], use.node, false});
        }
      }
    }
    return accesses;
  }

  // Paths between neighbours (overwriting node, readers after it, next
  // overwriting node) are enough: they imply the other paths.
  void RequirePaths(ValueId value, std::vector<Access>& accesses) {
    // A node that reads and overwrites counts once, as overwriting.
    std::ranges::sort(accesses, [](const Access& a, const Access& b) {
      return a.place != b.place ? a.place < b.place
                                : a.overwrites > b.overwrites;
    });
    const auto end = std::unique(
        accesses.begin(), accesses.end(),
        [](const Access& a, const Access& b) { return a.place == b.place; });
    accesses.erase(end, accesses.end());

    const auto require = [&](NodeId before, NodeId after) {
      if (HasEdge(before, after)) return;
      paths_.push_back({before, after});
      path_values_.push_back(value);
    };
    NodeId last_write;
    size_t reads_begin = 0;
    for (size_t i = 0; i < accesses.size(); ++i) {
      const NodeId node = accesses[i].node;
      if (last_write.is_valid()) require(last_write, node);
      if (!accesses[i].overwrites) continue;
      for (size_t read = reads_begin; read < i; ++read) {
        require(accesses[read].node, node);
      }
      last_write = node;
      reads_begin = i + 1;
    }
  }

  bool HasEdge(NodeId before, NodeId after) const {
    bool has_edge = false;
    ForEachPredecessor(graph_, after, [&](NodeId predecessor) {
      has_edge = has_edge || predecessor == before;
    });
    return has_edge;
  }

  absl::Status Unordered(size_t index) const {
    const RequiredPath& path = paths_[index];
    return InvalidArgument(fmt::format(
        "{} and {} use {}, which one of them overwrites, but no path orders "
        "the two; add a control edge",
        graph_.node(path.before).name, graph_.node(path.after).name,
        graph_.ValueName(path_values_[index])));
  }

  const Graph& graph_;
  const StorageMap storages_;
  const std::span<const NodeId> order_;
  IdMap<NodeId, int32_t> place_;
  std::vector<RequiredPath> paths_;
  std::vector<ValueId> path_values_;  // by path: the bytes in question
};

}  // namespace

absl::Status CheckMutationOrder(const Graph& graph, const OpRegistry& registry,
                                std::span<const NodeId> order) {
  return MutationOrder(graph, registry, order).Check();
}

}  // namespace spillway
