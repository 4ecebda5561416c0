// The algorithms that a step's kernels can choose from, and the choices worth
// trying. The fastest algorithms need the largest workspaces, so the tuner
// chooses workspaces together with swaps.
#ifndef SPILLWAY_TUNER_MODEL_KERNEL_ALGORITHMS_H_
#define SPILLWAY_TUNER_MODEL_KERNEL_ALGORITHMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "executor/plan/algorithms.h"
#include "graph/graph.h"
#include "simulator/device_profile.h"

namespace spillway {

struct KnownAlgorithm {
  std::string name = {};
  int64_t workspace_bytes = 0;
  int64_t ns = 0;  // 0: not measured
};

// By node: fastest first, each with a smaller workspace than all before it.
// Empty if no algorithm is known.
using KnownAlgorithms = IdMap<NodeId, std::vector<KnownAlgorithm>>;

// `listed`: the algorithms that the kernels of this machine list. By node, the
// result has the first of these that exists:
// - the listed algorithms that the profile has measured for the node's
//   signature;
// - the algorithms that the profile has measured for it on another machine, for
//   which the node is then planned;
// - if the profile has no algorithms at all, all listed ones, in their order;
// - the first listed algorithm.
KnownAlgorithms FindAlgorithms(const Graph& graph,
                               const ListedAlgorithms& listed,
                               const DeviceProfile& profile);

// For each node the fastest algorithm with a workspace of at most `most_bytes`
// (by node, or the same for all), else the one with the smallest workspace.
AlgorithmNames ChooseWithin(const KnownAlgorithms& known,
                            const IdMap<NodeId, int64_t>& most_bytes);
AlgorithmNames ChooseWithin(const KnownAlgorithms& known, int64_t most_bytes);

// Keeps only the fastest algorithm of each node. If no algorithm has a time,
// keeps none, so that each kernel takes its first.
void KeepFastest(KnownAlgorithms& known);

// Whether any node has a time for its algorithms.
bool HasTimes(const KnownAlgorithms& known);

// Every node's algorithm when no workspace is larger than `limit_bytes`.
struct LimitedChoice {
  int64_t limit_bytes = 0;
  // May be empty without times: then each kernel takes its first.
  AlgorithmNames names = {};
};

// Distinct choices, from the largest workspace to the smallest; at least one.
std::vector<LimitedChoice> LimitedChoices(const KnownAlgorithms& known);

// Overwrites the workspace of each node for which `names` names a known
// algorithm.
void SetWorkspaces(const KnownAlgorithms& known, const AlgorithmNames& names,
                   IdMap<NodeId, int64_t>& workspace_bytes);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MODEL_KERNEL_ALGORITHMS_H_
