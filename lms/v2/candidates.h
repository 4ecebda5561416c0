// Tensors that version 2 may swap, and the readers that share a swap-in.
#ifndef SPILLWAY_LMS_V2_CANDIDATES_H_
#define SPILLWAY_LMS_V2_CANDIDATES_H_

#include <vector>

#include "graph/graph.h"
#include "lms/options.h"
#include "lms/swap_plan.h"
#include "lms/v2/sync.h"

namespace spillway {

// One swap for every value of rank 2 or more whose node may be a source, if
// readers that are more than options.v2.swapout_threshold levels away may read
// a copy. The swap-ins have no triggers yet. Order: by producer, then output;
// groups by level (groups of one: by id). Values below the size threshold are
// appended to `dropped`.
std::vector<Swap> FindV2Candidates(const V2Context& context,
                                   std::vector<DroppedCandidate>& dropped);

// The reader of the lowest level; ties go to the lowest id.
NodeId EarliestReader(const SwapIn& swap_in, const V2Levels& levels);

// Drops swap-ins without a trigger, and those whose triggers all run before the
// last reader of the device copy, since they free nothing. Their readers then
// read the device copy, which may make other swap-ins useless.
void KeepUsefulSwapIns(const V2Context& context, Swap& swap,
                       std::vector<DroppedCandidate>& dropped);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V2_CANDIDATES_H_
