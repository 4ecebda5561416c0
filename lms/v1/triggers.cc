#include "lms/v1/triggers.h"

#include <algorithm>
#include <functional>
#include <string>

namespace spillway {

TriggerFinder::TriggerFinder(const LmsOptions& options, const Graph& graph,
                             const V1Orders& orders, const StorageMap& storages,
                             const EditView& view)
    : options_(options),
      graph_(graph),
      orders_(orders),
      storages_(storages),
      view_(view) {}

NodeId TriggerFinder::Find(NodeId producer, NodeId reader) {
  Search search = {
      .producer = producer, .reader = reader, .lb = options_.v1.lb};
  if (orders_.order[reader] - search.lb <= orders_.order[producer]) {
    search.lb = 1;
  }
  const bool near_boundary =
      orders_.order[reader] - search.lb < orders_.backward_start;
  const bool direct =
      is_gradient(producer) || near_boundary ||
      options_.v1.ctrld_strategy == ControlStrategy::kDirectOrder;
  return direct ? DirectOrder(search) : ChainRule(search);
}

// Gradient readers of forward nodes `lb` or more steps ahead of the producer:
// the latest one at the first depth that has any.
NodeId TriggerFinder::ChainRule(const Search& search) {
  if (search.lb > options_.v1.ub) return {};
  BeginSearch();
  Meet(search.producer);
  std::vector<NodeId> layer = {search.producer};
  for (int64_t depth = 0; depth < options_.v1.ub && !layer.empty(); ++depth) {
    if (depth >= search.lb) {
      const NodeId best = LatestPartner(layer, search);
      if (best.is_valid()) return best;
    }
    layer = NextLayer(layer);
  }
  return {};
}

std::vector<NodeId> TriggerFinder::NextLayer(const std::vector<NodeId>& layer) {
  std::vector<NodeId> next;
  for (const NodeId id : layer) {
    view_.ForEachReader(id, [&](NodeId reader) {
      if (!is_gradient(reader) && Meet(reader)) next.push_back(reader);
    });
  }
  return next;
}

// Among the gradient readers of `layer` between the two orders, the one with
// the highest order; ties go to the lowest id.
NodeId TriggerFinder::LatestPartner(const std::vector<NodeId>& layer,
                                    const Search& search) const {
  const int32_t after = orders_.order[search.producer];
  const int32_t before = orders_.order[search.reader];
  NodeId best;
  for (const NodeId id : layer) {
    view_.ForEachReader(id, [&](NodeId partner) {
      if (!is_gradient(partner) || !MayTrigger(partner)) return;
      const int32_t order = orders_.order[partner];
      if (order <= after || order >= before) return;
      if (!best.is_valid() ||
          std::pair(-order, partner) < std::pair(-orders_.order[best], best)) {
        best = partner;
      }
    });
  }
  return best;
}

// A node of the nearest order at least lb + 1 before the reader from which data
// flows to the reader. Walks up from the reader, latest layer first. If layers
// rise along the data, the first hit is the best; otherwise all nodes above the
// reader are examined.
NodeId TriggerFinder::DirectOrder(const Search& search) {
  const int32_t of_reader = orders_.order[search.reader];
  const int64_t nearest = of_reader - search.lb - 1;
  const int64_t farthest = std::max<int64_t>(of_reader - options_.v1.ub,
                                             orders_.order[search.producer]) +
                           1;
  if (nearest < farthest) return {};
  const bool rises =
      orders_.above_gradient[search.reader] && !orders_.has_unreached;
  BeginSearch();
  PushProducers(search.reader);
  NodeId best;
  while (!open_.empty()) {
    const NodeId id = PopLatest();
    const int32_t order = orders_.order[id];
    if (rises && 0 <= order && order < farthest) break;
    if (farthest <= order && order <= nearest && MayTrigger(id) &&
        (!best.is_valid() ||
         std::pair(-order, id) < std::pair(-orders_.order[best], best))) {
      best = id;
    }
    if (rises && best.is_valid()) break;
    PushProducers(id);
  }
  return best;
}

void TriggerFinder::PushProducers(NodeId id) {
  for (const ValueId input : graph_.node(id).inputs) {
    const NodeId producer = graph_.value(input).producer;
    if (!Meet(producer)) continue;
    open_.emplace_back(-orders_.layer[producer], producer);
    std::ranges::push_heap(open_, std::greater());
  }
}

// Pops the node of the latest layer; ties go to the lowest id.
NodeId TriggerFinder::PopLatest() {
  std::ranges::pop_heap(open_, std::greater());
  const NodeId id = open_.back().second;
  open_.pop_back();
  return id;
}

void TriggerFinder::BeginSearch() {
  ++search_;
  open_.clear();
  met_by_.resize(view_.num_nodes(), 0);
}

// False if this search has already met the node.
bool TriggerFinder::Meet(NodeId id) {
  if (met_by_[id.index()] == search_) return false;
  met_by_[id.index()] = search_;
  return true;
}

// Whether a kernel runs for the node, which is not in a branch that may not
// run.
bool TriggerFinder::MayTrigger(NodeId id) const {
  return !storages_.is_pure_alias(id) &&
         graph_.node(id).name.find("/cond/") == std::string::npos;
}

bool TriggerFinder::is_gradient(NodeId id) const {
  return !view_.IsSwap(id) && orders_.is_gradient[id];
}

}  // namespace spillway
