// TFLMS version 1: the node whose end starts a swap-in.
#ifndef SPILLWAY_LMS_V1_TRIGGERS_H_
#define SPILLWAY_LMS_V1_TRIGGERS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/storage.h"
#include "lms/edit_view.h"
#include "lms/options.h"
#include "lms/v1/orders.h"

namespace spillway {

// Ownership: borrows all its arguments, and follows changes of the view. Cost
// of a search: the nodes within the bounds lb and ub or up to the first hit,
// whichever is fewer; scratch memory is kept between searches. Ties: latest
// order, then lowest id. A pure alias is never a trigger: no kernel runs for
// it, so it has no end to wait for.
class TriggerFinder {
 public:
  TriggerFinder(const LmsOptions& options, const Graph& graph,
                const V1Orders& orders, const StorageMap& storages,
                const EditView& view);

  // The trigger of a swap-in of a value of `producer` for `reader`, which has a
  // known order. Invalid if none is found.
  NodeId Find(NodeId producer, NodeId reader);

 private:
  struct Search {
    NodeId producer = {};
    NodeId reader = {};
    int64_t lb = 0;
  };

  NodeId ChainRule(const Search& search);
  NodeId DirectOrder(const Search& search);
  NodeId LatestPartner(const std::vector<NodeId>& layer,
                       const Search& search) const;
  std::vector<NodeId> NextLayer(const std::vector<NodeId>& layer);
  void PushProducers(NodeId id);
  NodeId PopLatest();
  void BeginSearch();
  bool Meet(NodeId id);
  bool MayTrigger(NodeId id) const;
  bool is_gradient(NodeId id) const;

  const LmsOptions& options_;
  const Graph& graph_;
  const V1Orders& orders_;
  const StorageMap& storages_;
  const EditView& view_;
  std::vector<int32_t> met_by_;  // the last search that met a node
  int32_t search_ = 0;
  std::vector<std::pair<int32_t, NodeId>> open_;  // a heap: -layer, node
};

}  // namespace spillway

#endif  // SPILLWAY_LMS_V1_TRIGGERS_H_
