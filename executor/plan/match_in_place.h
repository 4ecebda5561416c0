// Chooses which outputs of a node overwrite which of its inputs.
//
//   FusedBatchNormGrad    dy --- dx       dx takes the bytes of x, so that
//                           \  /          dside can take those of dy
//                          x -- dside
#ifndef SPILLWAY_EXECUTOR_PLAN_MATCH_IN_PLACE_H_
#define SPILLWAY_EXECUTOR_PLAN_MATCH_IN_PLACE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "graph/op_def.h"

namespace spillway {

// `pairs`: the pairs of OpDef::in_place that the node may use. Returns by
// output the input whose bytes it takes over, or -1; no input is taken twice.
// The outputs that take over an input have the most bytes together that is
// possible (a maximum-weight matching); ties go to lower outputs and earlier
// pairs. Without `together` (OpDef::in_place_together), at most one output
// takes over an input. Cost: O(outputs * pairs).
std::vector<int> MatchInPlace(std::span<const BufferPair> pairs,
                              std::span<const int64_t> output_bytes,
                              bool together);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_MATCH_IN_PLACE_H_
