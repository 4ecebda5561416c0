// The starting points of TFLMS version 1, found automatically.
#ifndef SPILLWAY_LMS_V1_SEEDS_H_
#define SPILLWAY_LMS_V1_SEEDS_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "graph/storage.h"

namespace spillway {

// All borrowed for the call.
struct SeedInputs {
  const Graph& graph;
  const StorageMap& storages;
  const IdMap<NodeId, bool>& is_gradient;
  const IdMap<NodeId, int32_t>& levels;
};

// Of the forward nodes whose bytes a gradient node reads, by whatever name:
// those that reach the most others of them along data edges through forward
// nodes only; all with the largest number, by id; none if that is 0.
//
// Cost: near-linear on networks. Only a node that no other candidate reaches
// can be the best, and of these only those are counted (a walk each) for which
// an upper bound does not say that they are worse; see v1_seeds.cc.
// Source: TFLMS, as described in docs/lms.md.
std::vector<NodeId> FindSeeds(const SeedInputs& inputs);

// Ids sorted by level, then by id. Linear.
std::vector<NodeId> NodesByLevel(const IdMap<NodeId, int32_t>& levels);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V1_SEEDS_H_
