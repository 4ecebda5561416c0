// TFLMS version 1: which tensors to swap, and what triggers each swap-in.
//
// Visits the forward graph breadth first from the seeds. A tensor that gradient
// nodes read is swapped out; each such reader gets a swap-in (or all share one:
// fuse_swapins), started by a node found by the chain rule or in direct order.
// Departures from the original, unless options.compat is set:
// - A reader without a trigger, or whose trigger leaves no gap after the last
//   direct reader, keeps reading the device copy, and is reported as dropped.
// - Depths are counted in the original graph. (The original also counts the
//   swap nodes that it has inserted so far.)
// - A swap that would close a cycle is dropped.
// - Forward readers of unknown order do not count for swap_branches, and
//   readers on the host read the device copy.
// - A node that reads bytes under another name (Identity, Reshape) is a reader
//   of them. Bytes are swapped once, as the value that their node made; a
//   reader of another name reads an alias that is recreated from the copy.
//   Bytes that are resident or that some node overwrites are not swapped.
// Ties between triggers always go to the latest order, then the lowest id.
// Source: Le et al., "TFLMS: Large model support in TensorFlow by graph
// rewriting" (2018), sections 3 and 4; IBM's public implementation.
#ifndef SPILLWAY_LMS_V1_PLAN_SWAPS_H_
#define SPILLWAY_LMS_V1_PLAN_SWAPS_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/storage.h"
#include "lms/options.h"
#include "lms/swap_plan.h"

namespace spillway {

// `storages` are those of the graph (StoragesFor). Errors: as FindV1Orders and
// FindV1Sources; FAILED_PRECONDITION if the original's choice (options.compat)
// has a cycle. Cost: near-linear; a search for a trigger costs O(nodes within
// its bounds).
absl::StatusOr<SwapPlan> PlanSwapsV1(const LmsOptions& options,
                                     const StorageMap& storages,
                                     const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V1_PLAN_SWAPS_H_
