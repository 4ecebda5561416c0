// Policy "sqrt": keeps checkpoints and recomputes everything between two of
// them at once, for the backward phase of that segment.
#ifndef SPILLWAY_LMS_RECOMPUTE_CHECKPOINT_POLICY_H_
#define SPILLWAY_LMS_RECOMPUTE_CHECKPOINT_POLICY_H_

#include <cstdint>

#include "graph/storage.h"
#include "lms/recompute/forward_values.h"

namespace spillway {

// Cuts the forward nodes, in the order of their levels, into segments. The
// storages that are read across a cut are checkpoints; of the others, all of at
// least `least_bytes` outside the last segment are chosen, as far as they can
// be made again.
//
// A cut follows the first suitable node after the waiting bytes since the last
// cut exceed a budget. Suitable are nodes after which few storages are still to
// be read by forward nodes: one (the output of a residual block), two, four, or
// any number. Of all budgets and numbers that are tried, the choice has the
// least bytes at the worst time: the beginning of the backward phase of some
// segment, when its values, the checkpoints before it and all values that
// cannot be made again are on the device.
//
// Source: Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016),
// section 4 and algorithm 3; for n equal layers it gives their segments of
// sqrt(n) layers. Cost: linear, times the 84 choices that are tried.
IdMap<StorageId, bool> ChooseBetweenCheckpoints(const ForwardValues& values,
                                                int64_t least_bytes);

}  // namespace spillway

#endif  // SPILLWAY_LMS_RECOMPUTE_CHECKPOINT_POLICY_H_
