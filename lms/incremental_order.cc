#include "lms/incremental_order.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace spillway {
namespace {

bool HasAllBefore(const EditView& view, const IdMap<NodeId, int32_t>& place,
                  NodeId id) {
  bool all = true;
  view.ForEachPredecessor(
      id, [&](NodeId before) { all = all && place[before] >= 0; });
  return all;
}

// The nodes by level: a swap-out follows the nodes of the level of its
// producer, a swap-in precedes those of the level of its first reader.
std::vector<NodeId> OrderByLevel(const EditView& view,
                                 const IdMap<NodeId, int32_t>& levels) {
  const auto key_of = [&](NodeId id) {
    if (!view.IsSwap(id)) return 3 * int64_t{levels[id]} + 1;
    if (!view.IsSwapIn(id)) {
      const NodeId source = view.graph().value(view.ValueOf(id)).producer;
      return 3 * int64_t{levels[source]} + 2;
    }
    int32_t first = std::numeric_limits<int32_t>::max();
    view.ForEachReader(
        id, [&](NodeId reader) { first = std::min(first, levels[reader]); });
    return 3 * int64_t{first};
  };
  std::vector<std::pair<int64_t, NodeId>> keyed;
  keyed.reserve(view.num_nodes());
  for (size_t i = 0; i < view.num_nodes(); ++i) {
    keyed.emplace_back(key_of(NodeId(i)), NodeId(i));
  }
  std::ranges::sort(keyed);
  std::vector<NodeId> order;
  order.reserve(keyed.size());
  for (const auto& [key, id] : keyed) order.push_back(id);
  return order;
}

}  // namespace

IncrementalOrder::IncrementalOrder(const EditView& view,
                                   const IdMap<NodeId, int32_t>& levels)
    : view_(view), place_(view.num_nodes(), -1), met_(view.num_nodes(), false) {
  const std::vector<NodeId> order = OrderByLevel(view, levels);
  for (size_t i = 0; i < order.size(); ++i) {
    SPILLWAY_CHECK(HasAllBefore(view, place_, order[i]));
    place_[order[i]] = static_cast<int32_t>(i);
  }
}

bool IncrementalOrder::ClosesCycle(NodeId before, NodeId after) {
  if (before == after) return true;
  if (place_[before] < place_[after]) return false;
  const bool acyclic = WalkForward(after, place_[before], before);
  if (acyclic) WalkBackward(before, place_[after]);
  for (const NodeId id : behind_) met_[id] = false;
  for (const NodeId id : before_) met_[id] = false;
  if (acyclic) Reorder();
  behind_.clear();
  before_.clear();
  return !acyclic;
}

bool IncrementalOrder::WalkForward(NodeId start, int32_t last, NodeId target) {
  bool found = false;
  const auto visit = [&](NodeId id) {
    if (met_[id] || place_[id] > last) return;
    found = found || id == target;
    met_[id] = true;
    behind_.push_back(id);
  };
  visit(start);
  for (size_t i = 0; i < behind_.size() && !found; ++i) {
    view_.ForEachSuccessor(behind_[i], visit);
  }
  return !found;
}

void IncrementalOrder::WalkBackward(NodeId start, int32_t first) {
  const auto visit = [&](NodeId id) {
    if (met_[id] || place_[id] < first) return;
    met_[id] = true;
    before_.push_back(id);
  };
  visit(start);
  for (size_t i = 0; i < before_.size(); ++i) {
    view_.ForEachPredecessor(before_[i], visit);
  }
}

// Distributes the places of both groups: first to the nodes of before_, then to
// those of behind_. Each group keeps its old order.
void IncrementalOrder::Reorder() {
  const auto by_place = [&](NodeId id) { return place_[id]; };
  std::ranges::sort(before_, {}, by_place);
  std::ranges::sort(behind_, {}, by_place);
  before_.insert(before_.end(), behind_.begin(), behind_.end());
  std::vector<int32_t> places;
  places.reserve(before_.size());
  for (const NodeId id : before_) places.push_back(place_[id]);
  std::ranges::sort(places);
  for (size_t i = 0; i < places.size(); ++i) place_[before_[i]] = places[i];
}

}  // namespace spillway
