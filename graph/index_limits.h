// Which inputs of a node are indices, and their range (OpDef::index_inputs).
#ifndef SPILLWAY_GRAPH_INDEX_LIMITS_H_
#define SPILLWAY_GRAPH_INDEX_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/op_def.h"

namespace spillway {

// The elements of input `input` must be in [0, limit).
struct IndexLimit {
  size_t input = 0;
  int64_t limit = 0;
};

// The limits of a node whose types `def.infer` accepts, in the order of
// `def.index_inputs`; without optional inputs that are left out. Errors:
// INVALID_ARGUMENT for an input that is not int32, int64 or uint8 or a limit
// that is not positive; INTERNAL for a limit function that throws.
absl::StatusOr<std::vector<IndexLimit>> IndexLimits(const OpDef& def,
                                                    const InferContext& node);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_INDEX_LIMITS_H_
