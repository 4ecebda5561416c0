// Finds the starting points of TFLMS version 1 automatically.
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

// Candidates are forward nodes whose bytes a gradient node reads, under any
// name. Returns, by id, all candidates that reach the largest number of other
// candidates along data edges through forward nodes only; empty if that number
// is 0.
//
// Cost: near-linear on networks. Only a candidate that no other candidate
// reaches can be the best. Of these, only candidates whose upper bound is not
// below the best count are counted (one walk each); see seeds.cc.
// Source: TFLMS, as described in docs/lms.md.
std::vector<NodeId> FindSeeds(const SeedInputs& inputs);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V1_SEEDS_H_
