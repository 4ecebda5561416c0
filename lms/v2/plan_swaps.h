// TFLMS version 2: which tensors to swap, and what starts each swap-in.
//
// Uses distances in levels over the whole graph, without phases. A tensor of
// rank 2 or more is swapped for the readers that are more than
// options.v2.swapout_threshold levels away. Readers close to each other share a
// swap-in, which is started by a node `swapin_ahead` levels before the first of
// them.
//
//   level   0    1    2    3    4    5    6    7      threshold 3, ahead 1
//           F1 - F2 - F3 - F4 - B4 - B3 - B2 - B1
//           |         |              |    :    |      F1 leaves (distance 7),
//           |         +--------------+    :    |      F3 stays (3)
//           +- out ................... in-:----+      in waits for B3
//
// Departures from the original, unless options.compat is set: triggers are
// found in the original graph; if no node lies far enough ahead, the swap-in of
// a group waits for the other inputs of its first reader; a swap-in that would
// still wait for nothing, or that starts before the last reader of the device
// copy, is dropped and reported; in sync modes 2 and 3 each reader has its own
// swap-in; a node that reads bytes under another name (Identity, Reshape) is a
// reader of them, and bytes are swapped once, as in version 1. With and without
// compat, edges that would close a cycle are never added. Source: IBM's
// TensorFlow Large Model Support 2.0 (2019), as specified by its observable
// behaviour.
#ifndef SPILLWAY_LMS_V2_PLAN_SWAPS_H_
#define SPILLWAY_LMS_V2_PLAN_SWAPS_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/storage.h"
#include "lms/options.h"
#include "lms/swap_plan.h"

namespace spillway {

// `storages` are those of the graph (StoragesFor). Errors: INVALID_ARGUMENT for
// filters (FindV2Roles) and for a cycle. Cost: near-linear in nodes and edges
// if swapin_ahead and the number of nodes per level are small.
absl::StatusOr<SwapPlan> PlanSwapsV2(const LmsOptions& options,
                                     const StorageMap& storages,
                                     const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V2_PLAN_SWAPS_H_
