// Which algorithms a step's kernels can choose from, and the choices worth
// trying: the fastest need the largest workspaces, so how many bytes they may
// have is decided together with what is swapped.
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
// Empty where nothing is known of algorithms.
using KnownAlgorithms = IdMap<NodeId, std::vector<KnownAlgorithm>>;

// `listed`: by the kernels of this machine. Of these, what the profile has
// measured of a node's signature; if it has measured others only, these: the
// node is planned for another machine. Where it has measured nothing, the
// kernel's first; or all that kernels list, in their order, if the profile has
// no algorithms at all.
KnownAlgorithms FindAlgorithms(const Graph& graph,
                               const ListedAlgorithms& listed,
                               const DeviceProfile& profile);

// Of each node the fastest with a workspace of at most `most_bytes` (by node,
// or the same for all), or else that with the least.
AlgorithmNames ChooseWithin(const KnownAlgorithms& known,
                            const IdMap<NodeId, int64_t>& most_bytes);
AlgorithmNames ChooseWithin(const KnownAlgorithms& known, int64_t most_bytes);

// Leaves every node the fastest alone; where no algorithm has a time, leaves
// none, so that kernels take their first.
void KeepFastest(KnownAlgorithms& known);

// Whether there is a node with a time for its algorithms.
bool HasTimes(const KnownAlgorithms& known);

// Every node's algorithm when no workspace is larger than `limit_bytes`.
struct LimitedChoice {
  int64_t limit_bytes = 0;
  AlgorithmNames names = {};  // without times, all may be the kernels' first
};

// Choices that differ, from the largest workspace there is to the smallest; at
// least one.
std::vector<LimitedChoice> LimitedChoices(const KnownAlgorithms& known);

// Overwrites the workspaces of nodes for which `names` names a known algorithm.
void SetWorkspaces(const KnownAlgorithms& known, const AlgorithmNames& names,
                   IdMap<NodeId, int64_t>& workspace_bytes);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MODEL_KERNEL_ALGORITHMS_H_
