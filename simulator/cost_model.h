// Predicted time of each node's kernel.
#ifndef SPILLWAY_SIMULATOR_COST_MODEL_H_
#define SPILLWAY_SIMULATOR_COST_MODEL_H_

#include <cstdint>

#include "executor/plan/algorithms.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "simulator/device_profile.h"

namespace spillway {

// The profile's peak, in flops per second, for the dtype that a node computes
// in: the narrowest of its floating-point dtypes. A dtype without a peak in the
// profile has float32's.
double PeakFlopRate(const Graph& graph, const Node& node,
                    const DeviceProfile& profile);

// Nanoseconds by node. The first of these that exists:
// - the time that the node states;
// - of a collective, if the profile has a network: its work on one rank, as
//   below, and the time on the network (network/collective_cost.h); 0 with one
//   rank;
// - of a node on the host, if the profile has the host's rates: its roofline;
// - the time that the profile measured of the node's signature
//   (node_signature.h) and, where `algorithms` names one, its algorithm;
// - the roofline: the larger of flops / PeakFlopRate and bytes / memory rate,
//   but at least kernel_ns. Both rates are scaled by the efficiency that
//   kernels of the node's arithmetic reach.
// Source: Williams, Waterman, Patterson, "Roofline: an insightful visual
// performance model for multicore architectures" (2009).
IdMap<NodeId, int64_t> EstimateKernelTimes(
    const Graph& graph, const OpRegistry& ops, const DeviceProfile& profile,
    const AlgorithmNames& algorithms = {});

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_COST_MODEL_H_
