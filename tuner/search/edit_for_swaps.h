// Converts a choice of gaps to the edit of the graph and the order of the
// edited graph's nodes.
#ifndef SPILLWAY_TUNER_SEARCH_EDIT_FOR_SWAPS_H_
#define SPILLWAY_TUNER_SEARCH_EDIT_FOR_SWAPS_H_

#include <vector>

#include "base/interval.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/order/schedule.h"
#include "lms/swap_plan.h"
#include "tuner/search/swap_search.h"

namespace spillway {

struct SwapEdit {
  SwapPlan swaps = {};
  // Of the graph after ApplySwapPlan(swaps). The ids of its new nodes follow
  // those of the graph.
  Schedule schedule = {};
  // By node of that graph.
  IdMap<NodeId, Interval> expected_ns = {};
};

// Each copy to the host runs right after the step that writes the tensor. Each
// copy back runs right after the step that `found` names, which is also its
// trigger. A tensor that is read after a gap under another name gets a new
// alias of the copy, right before the first reader; aliases made after the gap
// read the copy. `schedule`: the order from which the model was made.
SwapEdit EditForSwaps(const Graph& graph, const OpRegistry& ops,
                      const Schedule& schedule, const StepModel& model,
                      const FoundSwaps& found);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_EDIT_FOR_SWAPS_H_
