// Algorithms of kernels, as far as planning needs them: an algorithm has a
// workspace, and the choice of algorithms is part of the plan.
#ifndef SPILLWAY_EXECUTOR_PLAN_ALGORITHMS_H_
#define SPILLWAY_EXECUTOR_PLAN_ALGORITHMS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "graph/node.h"

namespace spillway {

// One of several algorithms for a node; their results differ at most in
// rounding.
struct KernelAlgorithm {
  // Stable for a device and the versions of its libraries; unique per node.
  std::string name = {};
  int64_t workspace_bytes = 0;
};

// By node, the kernel's default first; empty for nodes with only one algorithm.
using ListedAlgorithms = IdMap<NodeId, std::vector<KernelAlgorithm>>;

// The chosen algorithms, by node. Empty, or beyond the map's end: the default.
using AlgorithmNames = IdMap<NodeId, std::string>;

inline std::string_view AlgorithmOf(const AlgorithmNames& names, NodeId node) {
  return node.index() < names.size() ? std::string_view(names[node])
                                     : std::string_view();
}

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_ALGORITHMS_H_
