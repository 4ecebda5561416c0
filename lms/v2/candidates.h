// Tensors that version 2 may swap, and the readers that share a swap-in.
#ifndef SPILLWAY_LMS_V2_CANDIDATES_H_
#define SPILLWAY_LMS_V2_CANDIDATES_H_

#include <vector>

#include "graph/graph.h"
#include "lms/options.h"
#include "lms/swap_plan.h"
#include "lms/v2/sync.h"

namespace spillway {

// Every value whose node may be a source, of rank 2 or more, that readers more
// than options.v2.swapout_threshold levels away may read from a copy; the
// swap-ins have no triggers yet. By producer, then output; groups by level (in
// groups of one: by id). Values below the size threshold go to `dropped`.
std::vector<Swap> FindV2Candidates(const V2Context& context,
                                   std::vector<DroppedCandidate>& dropped);

// The reader of the lowest level, then id.
NodeId EarliestReader(const SwapIn& swap_in, const V2Levels& levels);

// Drops swap-ins without a trigger, and those whose triggers all come before
// the last reader of the device copy has run, which gain nothing. Their readers
// read the device copy then, which may take the gap from others.
void KeepUsefulSwapIns(const V2Context& context, Swap& swap,
                       std::vector<DroppedCandidate>& dropped);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V2_CANDIDATES_H_
