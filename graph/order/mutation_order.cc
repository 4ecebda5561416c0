#include "graph/order/mutation_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "base/status_macros.h"
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

// A path from `before` to `after` must exist.
struct RequiredPath {
  NodeId before;
  NodeId after;
  ValueId value;  // the bytes in question, for the message
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
    std::vector<RequiredPath> paths;
    for (auto& [storage, accesses] : FindAccesses()) {
      RequirePaths(storages_.storage(storage).root, accesses, paths);
    }
    std::ranges::stable_sort(paths, {}, [this](const RequiredPath& path) {
      return place_[path.after];
    });
    return CheckPaths(paths);
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
  void RequirePaths(ValueId value, std::vector<Access>& accesses,
                    std::vector<RequiredPath>& paths) const {
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
      if (!HasEdge(before, after)) paths.push_back({before, after, value});
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

  // `paths` are sorted by the place of `after`. Each sweep handles up to 64
  // different ends: bit b of a node says that a path leads from the node to end
  // b.
  absl::Status CheckPaths(std::span<const RequiredPath> paths) const {
    IdMap<NodeId, uint64_t> leads_to(graph_.num_nodes(), 0);
    for (size_t begin = 0; begin < paths.size();) {
      std::ranges::fill(leads_to, 0);
      std::vector<int> bits;  // of paths[begin + i].after
      int num_ends = 0;
      int32_t first_place = place_[paths[begin].before];
      for (size_t i = begin; i < paths.size(); ++i) {
        if (i == begin || paths[i].after != paths[i - 1].after) ++num_ends;
        if (num_ends > 64) break;
        bits.push_back(num_ends - 1);
        leads_to[paths[i].after] |= uint64_t{1} << bits.back();
        first_place = std::min(first_place, place_[paths[i].before]);
      }
      const std::span<const RequiredPath> batch =
          paths.subspan(begin, bits.size());
      Sweep(first_place, place_[batch.back().after], leads_to);
      for (size_t i = 0; i < batch.size(); ++i) {
        if ((leads_to[batch[i].before] >> bits[i] & 1) == 0) {
          return Unordered(batch[i]);
        }
      }
      begin += batch.size();
    }
    return absl::OkStatus();
  }

  void Sweep(int32_t first_place, int32_t last_place,
             IdMap<NodeId, uint64_t>& leads_to) const {
    for (int32_t place = last_place; place >= first_place; --place) {
      const NodeId id = order_[static_cast<size_t>(place)];
      const uint64_t ends = leads_to[id];
      if (ends == 0) continue;
      ForEachPredecessor(graph_, id,
                         [&](NodeId before) { leads_to[before] |= ends; });
    }
  }

  absl::Status Unordered(const RequiredPath& path) const {
    return InvalidArgument(fmt::format(
        "{} and {} use {}, which one of them overwrites, but no path orders "
        "the two; add a control edge",
        graph_.node(path.before).name, graph_.node(path.after).name,
        graph_.ValueName(path.value)));
  }

  const Graph& graph_;
  const StorageMap storages_;
  const std::span<const NodeId> order_;
  IdMap<NodeId, int32_t> place_;
};

}  // namespace

absl::Status CheckMutationOrder(const Graph& graph, const OpRegistry& registry,
                                std::span<const NodeId> order) {
  return MutationOrder(graph, registry, order).Check();
}

}  // namespace spillway
