// Proves that a graph with clones computes what the original does.
#ifndef SPILLWAY_LMS_RECOMPUTE_VERIFY_RECOMPUTE_H_
#define SPILLWAY_LMS_RECOMPUTE_VERIFY_RECOMPUTE_H_

#include "absl/status/status.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "lms/recompute/recompute_plan.h"

namespace spillway {

// Contracts each output of a clone to the output of its original. Then
// - the nodes of the original are unchanged, and each of their input slots
//   contracts to the value that it had; they keep their control inputs and gain
//   the orders of the plan;
// - each added node is the clone of the plan at its place: with the original's
//   op, attributes, placement, cost and types, where each slot contracts to the
//   original's; or the node that OpDef::derive gives, slot by slot;
// - each original may be cloned (clonable.h), so no clone overwrites bytes;
// - bytes that a clone reads and another node overwrites (variables): a path
//   orders the two as the original and that node are ordered. A clone behind
//   the update of its weights would see the wrong weights;
// - each clone has a trigger and a reader, and exactly the planned readers;
// - the graph is acyclic.
//
// By induction over the nodes in order, every value of the original then has
// the same bytes in both graphs, and a clone's output those of its original's,
// provided that kernels are deterministic and that a derived node's kernel is
// bitwise identical to the original's (tests/ops checks both).
//
// Cost: near-linear. Errors: INTERNAL naming the difference.
absl::Status VerifyRecompute(const Graph& original, const Graph& edited,
                             const RecomputePlan& plan, const OpRegistry& ops);

}  // namespace spillway

#endif  // SPILLWAY_LMS_RECOMPUTE_VERIFY_RECOMPUTE_H_
