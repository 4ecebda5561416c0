// The proof that an edited graph computes what the original did.
#ifndef SPILLWAY_LMS_VERIFY_SWAPS_H_
#define SPILLWAY_LMS_VERIFY_SWAPS_H_

#include "absl/status/status.h"
#include "graph/graph.h"

namespace spillway {

// Contracting every SwapOut/SwapIn pair must give back `original`: the same
// nodes (name, op, attributes, placement, types), the same data inputs slot by
// slot, the same control edges. Added nodes are swaps only; added control edges
// end at a SwapIn; every SwapOut has a SwapIn, every SwapIn a reader; types are
// kept; the result is acyclic. Errors: INTERNAL naming what differs.
absl::Status VerifySwaps(const Graph& original, const Graph& edited);

}  // namespace spillway

#endif  // SPILLWAY_LMS_VERIFY_SWAPS_H_
