// The proof that an edited graph computes what the original did.
#ifndef SPILLWAY_LMS_VERIFY_SWAPS_H_
#define SPILLWAY_LMS_VERIFY_SWAPS_H_

#include "absl/status/status.h"
#include "graph/graph.h"
#include "graph/storage.h"
#include "lms/swap_plan.h"

namespace spillway {

// What an edit was allowed to do.
struct AllowedEdit {
  // Every added control edge must be in it, and every edge in it be there.
  const SwapPlan& plan;
  // Each swap-in must wait for something besides its swap-out. (The originals
  // leave some that do not: LmsOptions::compat.)
  bool every_swap_in_has_a_trigger = true;
  // Those of the original. Swapped are then only bytes that no node overwrites
  // and that do not outlive the step, each under one name; pure aliases may be
  // made again. Null: nothing is known of ops, and no alias may be.
  const StorageMap* storages = nullptr;
};

// Contracting every SwapOut/SwapIn pair must give back `original`: the same
// nodes (name, op, attributes, placement, cost, types) and the same data inputs
// slot by slot. Added nodes are swaps, each between the value, the triggers and
// the readers of its place in the plan, and the aliases that are made again
// behind a SwapIn, each of which stands for the node that it is a copy of. They
// keep the type; every SwapOut has a SwapIn, every SwapIn a reader that is no
// swap, and a trigger unless it may do without. Nodes of the original keep
// their control inputs and gain those that the plan says: swap-outs to wait
// for, and orders. The result is acyclic. Cost: near-linear. Errors: INTERNAL
// naming what differs.
absl::Status VerifySwaps(const Graph& original, const Graph& edited,
                         const AllowedEdit& allowed);

}  // namespace spillway

#endif  // SPILLWAY_LMS_VERIFY_SWAPS_H_
