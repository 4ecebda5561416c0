// Policy "cheap": recomputes the outputs of ops that are bound by memory
// traffic: normalisations, activations, pools, concatenations.
#ifndef SPILLWAY_LMS_RECOMPUTE_CHEAP_POLICY_H_
#define SPILLWAY_LMS_RECOMPUTE_CHEAP_POLICY_H_

#include <cstdint>
#include <vector>

#include "graph/storage.h"
#include "lms/recompute/forward_values.h"
#include "lms/swap_plan.h"

namespace spillway {

// Chooses every storage of at least `least_bytes` that waits for the backward
// phase, that cheap nodes can make again, and that is larger than what has to
// wait in its place: the values that its clones read and that no other node of
// the backward phase needs. Storages are decided in the order of their levels;
// values that wait in the place of an earlier storage cost a later one nothing.
// Adds the others that a cheap node makes to `dropped`.
//
// A clone lives from the first reader of any clone that is made from it. Where
// values are made from each other over many layers (sums of residual blocks,
// concatenations), those of such a chain are made again together.
//
// A node is cheap if its kernel moves at most 8 bytes for each byte of its
// outputs, and does at most 4 floating-point operations for each byte that it
// moves: below that, both CPUs and GPUs wait for memory.
//
// The idea: Chen et al., "Training Deep Nets with Sublinear Memory Cost"
// (2016), section 3. Cost: linear in the edges, times the length of chains of
// cheap nodes.
IdMap<StorageId, bool> ChooseCheap(const ForwardValues& values,
                                   int64_t least_bytes,
                                   std::vector<DroppedCandidate>& dropped);

}  // namespace spillway

#endif  // SPILLWAY_LMS_RECOMPUTE_CHEAP_POLICY_H_
