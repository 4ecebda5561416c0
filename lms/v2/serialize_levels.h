// Serialization: nodes of one level may run at the same time, so their outputs
// exist together; a chain of control edges between them lowers the peak.
//
//    A -> {B, C, D} -> E        [1]:   A -> B ~> C ~> D -> E
//                               [1:3]: and D ~> E
#ifndef SPILLWAY_LMS_V2_SERIALIZE_LEVELS_H_
#define SPILLWAY_LMS_V2_SERIALIZE_LEVELS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "lms/options.h"
#include "lms/swap_plan.h"
#include "lms/v2/levels.h"
#include "lms/v2/roles.h"

namespace spillway {

struct LevelChains {
  // Highest level of a variable's initializing node (<variable>/Assign); 0 if
  // there is none. Levels up to it are not serialized.
  int32_t assign_level = 0;
  std::vector<int64_t> levels_by_size = {};
  // New control edges, level by level. If the previous level was serialized
  // too, its last node precedes the first node of this level.
  std::vector<AddedOrder> orders = {};
};

// Chains the device nodes of the levels that options.v2.serialization and
// serialization_by_size_gib choose, by id; variables, nodes of branches
// ("/cond/") and losses ("loss") are left out. Changes nothing. Errors:
// INVALID_ARGUMENT for an item that is not a slice.
absl::StatusOr<LevelChains> SerializeLevels(const LmsOptions& options,
                                            const Graph& graph,
                                            const V2Levels& levels,
                                            const V2Roles& roles);

// Bytes of a node's inputs and outputs, slot by slot.
int64_t TouchedBytes(const Graph& graph, const Node& node);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V2_SERIALIZE_LEVELS_H_
