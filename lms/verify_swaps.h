// Proves that an edited graph computes what the original does.
#ifndef SPILLWAY_LMS_VERIFY_SWAPS_H_
#define SPILLWAY_LMS_VERIFY_SWAPS_H_

#include "absl/status/status.h"
#include "graph/graph.h"
#include "graph/storage.h"
#include "lms/swap_plan.h"

namespace spillway {

// The changes that an edit may make.
struct AllowedEdit {
  // Every added control edge must be in the plan, and every edge of the plan
  // must have been added.
  const SwapPlan& plan;
  // Each swap-in must wait for another node than its swap-out. (The originals
  // leave some without: LmsOptions::compat.)
  bool every_swap_in_has_a_trigger = true;
  // The storages of the original. With them, only bytes that no node overwrites
  // and that do not outlive the step may be swapped, each under one name; pure
  // aliases may be recreated. Null: nothing is known about ops, and no alias
  // may be recreated.
  const StorageMap* storages = nullptr;
};

// Contracting every SwapOut/SwapIn pair must give back `original`: the same
// nodes (name, op, attributes, placement, cost, types) and the same data inputs
// slot by slot. Added nodes are swaps, each between the value, the triggers and
// the readers of its place in the plan, and the aliases that are recreated
// behind a SwapIn, each a copy of an original node. Swaps keep the type; every
// SwapOut has a SwapIn; every SwapIn has a reader that is not a swap, and a
// trigger unless the options allow none. Nodes of the original keep their
// control inputs and gain those of the plan: swap-outs to wait for, and orders.
// The result is acyclic. Cost: near-linear. Errors: INTERNAL naming the
// difference.
absl::Status VerifySwaps(const Graph& original, const Graph& edited,
                         const AllowedEdit& allowed);

}  // namespace spillway

#endif  // SPILLWAY_LMS_VERIFY_SWAPS_H_
