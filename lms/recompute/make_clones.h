// Makes the plan for a choice of storages that are computed again.
#ifndef SPILLWAY_LMS_RECOMPUTE_MAKE_CLONES_H_
#define SPILLWAY_LMS_RECOMPUTE_MAKE_CLONES_H_

#include "graph/storage.h"
#include "lms/recompute/forward_values.h"
#include "lms/recompute/recompute_plan.h"

namespace spillway {

// The backward phase reads clones of the storages in `is_remade`. A clone reads
// a clone of each input that is in `is_remade` too, so a chain of clones begins
// at values that are not. There is one clone for each node, which all readers
// share; a storage that neither the backward phase nor a clone reads has none.
//
// Requires CanRemake of each storage in `is_remade`, and Waits if the backward
// phase reads it. A storage is dropped from the choice, with the reason in the
// plan, if a variable that its clone would read is updated before.
//
// Why the edited graph has no cycle: give a clone the level of its first
// reader, through other clones, less a half. Levels then rise along all edges:
// the trigger is a predecessor of that reader, the inputs are made on lower
// levels than that of the reader (else the storage is dropped), and a clone is
// ordered only before updates of higher levels.
//
// Cost: near-linear.
RecomputePlan MakeClones(const ForwardValues& values,
                         const IdMap<StorageId, bool>& is_remade);

}  // namespace spillway

#endif  // SPILLWAY_LMS_RECOMPUTE_MAKE_CLONES_H_
