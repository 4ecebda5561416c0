// Predicted time of each node's kernel.
#ifndef SPILLWAY_SIMULATOR_COST_MODEL_H_
#define SPILLWAY_SIMULATOR_COST_MODEL_H_

#include <cstdint>

#include "executor/plan/algorithms.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "simulator/device_profile.h"

namespace spillway {

// Nanoseconds by node: the time that the node states, else what the profile
// measured of its signature (node_signature.h) and, where one is named, its
// algorithm, else the roofline, the larger of flops over the rate of its dtype
// and bytes over the memory's rate, both as far as kernels of its arithmetic
// reach them, and at least kernel_ns. A node with several floating dtypes
// computes in the narrowest; a dtype that the profile has no rate for computes
// at float32's. Source: Williams, Waterman, Patterson,
// "Roofline: an insightful visual performance model for multicore
// architectures" (2009).
IdMap<NodeId, int64_t> EstimateKernelTimes(
    const Graph& graph, const OpRegistry& ops, const DeviceProfile& profile,
    const AlgorithmNames& algorithms = {});

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_COST_MODEL_H_
