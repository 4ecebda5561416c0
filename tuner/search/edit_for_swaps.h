// From a choice of gaps to what runs: the edit of the graph and the order of
// the edited graph's nodes.
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
  // Of the graph after ApplySwapPlan(swaps), whose new nodes it counts on from
  // the last one of the graph.
  Schedule schedule = {};
  // By node of that graph.
  IdMap<NodeId, Interval> expected_ns = {};
};

// Each copy to the host comes right after the step that writes the tensor, each
// copy back right after the step that `found` says, which is also its trigger.
// What is read after a gap under another name than the tensor's is made again
// from the copy, right before the first reader; aliases after the gap
// themselves read the copy. `schedule`: the order that the model was made of.
SwapEdit EditForSwaps(const Graph& graph, const OpRegistry& ops,
                      const Schedule& schedule, const StepModel& model,
                      const FoundSwaps& found);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_EDIT_FOR_SWAPS_H_
