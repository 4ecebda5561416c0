// Kernels that can compute their node in several ways, as far as planning is
// concerned: an algorithm has a workspace, and which one is taken is a part of
// the plan.
#ifndef SPILLWAY_EXECUTOR_PLAN_ALGORITHMS_H_
#define SPILLWAY_EXECUTOR_PLAN_ALGORITHMS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "graph/node.h"

namespace spillway {

// One of several ways to compute a node; what it computes differs in rounding
// at most.
struct KernelAlgorithm {
  // Stable for a device and the versions of its libraries; unique in its node.
  std::string name = {};
  int64_t workspace_bytes = 0;
};

// By node, the one that a kernel takes unless told otherwise first; empty for
// nodes with one way only.
using ListedAlgorithms = IdMap<NodeId, std::vector<KernelAlgorithm>>;

// Which of them is taken, by node. Empty, or beyond the map's end: the first.
using AlgorithmNames = IdMap<NodeId, std::string>;

inline std::string_view AlgorithmOf(const AlgorithmNames& names, NodeId node) {
  return node.index() < names.size() ? std::string_view(names[node])
                                     : std::string_view();
}

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_ALGORITHMS_H_
