#include "graph/order/paths.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "graph/traverse.h"

namespace spillway {
namespace {

// Each sweep handles up to 64 different ends: bit b of a node says that a path
// leads from the node to end b.
class PathFinder {
 public:
  PathFinder(const Graph& graph, std::span<const NodeId> order,
             std::span<const RequiredPath> paths)
      : graph_(graph),
        order_(order),
        paths_(paths),
        place_(graph.num_nodes(), 0),
        leads_to_(graph.num_nodes(), 0) {
    for (size_t i = 0; i < order.size(); ++i) {
      place_[order[i]] = static_cast<int32_t>(i);
    }
  }

  std::vector<size_t> FindMissing() {
    std::vector<size_t> missing;
    std::vector<size_t> by_end(paths_.size());
    std::iota(by_end.begin(), by_end.end(), size_t{0});
    std::ranges::stable_sort(
        by_end, {}, [this](size_t i) { return place_[paths_[i].after]; });
    std::span<const size_t> rest(by_end);
    while (!rest.empty()) {
      const std::vector<int> bits = BitsOfBatch(rest);
      const std::span<const size_t> batch = rest.first(bits.size());
      Sweep(batch, bits);
      for (size_t i = 0; i < batch.size(); ++i) {
        const uint64_t ends = leads_to_[paths_[batch[i]].before];
        if ((ends >> bits[i] & 1) == 0) missing.push_back(batch[i]);
      }
      rest = rest.subspan(batch.size());
    }
    return missing;
  }

 private:
  // The bit of each path of the next batch, which has at most 64 ends.
  std::vector<int> BitsOfBatch(std::span<const size_t> rest) const {
    std::vector<int> bits;
    int num_ends = 0;
    for (size_t i = 0; i < rest.size(); ++i) {
      if (i == 0 || paths_[rest[i]].after != paths_[rest[i - 1]].after) {
        ++num_ends;
      }
      if (num_ends > 64) break;
      bits.push_back(num_ends - 1);
    }
    return bits;
  }

  void Sweep(std::span<const size_t> batch, const std::vector<int>& bits) {
    int32_t first = place_[paths_[batch[0]].before];
    int32_t last = 0;
    for (const size_t i : batch) {
      const RequiredPath& path = paths_[i];
      first = std::min(first, place_[path.before]);
      last = std::max({last, place_[path.before], place_[path.after]});
    }
    // Only the nodes between the first and the last place matter.
    for (int32_t place = first; place <= last; ++place) {
      leads_to_[order_[static_cast<size_t>(place)]] = 0;
    }
    for (size_t i = 0; i < batch.size(); ++i) {
      leads_to_[paths_[batch[i]].after] |= uint64_t{1} << bits[i];
    }
    for (int32_t place = last; place >= first; --place) {
      const NodeId id = order_[static_cast<size_t>(place)];
      const uint64_t ends = leads_to_[id];
      if (ends == 0) continue;
      ForEachPredecessor(graph_, id, [&](NodeId before) {
        if (place_[before] >= first) leads_to_[before] |= ends;
      });
    }
  }

  const Graph& graph_;
  const std::span<const NodeId> order_;
  const std::span<const RequiredPath> paths_;
  IdMap<NodeId, int32_t> place_;
  IdMap<NodeId, uint64_t> leads_to_;
};

}  // namespace

std::vector<size_t> FindMissingPaths(const Graph& graph,
                                     std::span<const NodeId> order,
                                     std::span<const RequiredPath> paths) {
  if (paths.empty()) return {};
  return PathFinder(graph, order, paths).FindMissing();
}

}  // namespace spillway
