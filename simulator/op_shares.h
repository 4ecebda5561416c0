// Where the time of a step goes: op by op, beside the peaks of the machine.
#ifndef SPILLWAY_SIMULATOR_OP_SHARES_H_
#define SPILLWAY_SIMULATOR_OP_SHARES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op_registry.h"
#include "simulator/device_profile.h"

namespace spillway {

// All nodes of an op in one step.
struct OpShare {
  std::string op = {};
  int64_t nodes = 0;
  int64_t ns = 0;
  double of_time = 0;  // of all kernels of the step; 0 to 1
  // Reached parts of the profile's peak rates. Flops are those of the direct
  // algorithm, at the peak of the dtype that a node computes in; bytes are
  // every input and every output once. So caches may lift of_memory_peak above
  // 1, and Winograd's algorithm of_flops_peak.
  double of_flops_peak = 0;
  double of_memory_peak = 0;
};

struct StepShares {
  std::vector<OpShare> ops = {};  // longest first, equal ones by name
  OpShare all = {};               // with the name "all"
};

// Of the nodes that run when `fetches` are wanted and whose kernels the profile
// has measured: by the measured time of each one's first algorithm.
StepShares SharesOfOps(const Graph& graph, const OpRegistry& ops,
                       std::span<const ValueId> fetches,
                       const DeviceProfile& profile);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_OP_SHARES_H_
