// A lower bound on the time of a step under a memory budget, for every choice
// of swaps.
//
// Let D(k) be the live bytes at step k without swaps, minus the budget. While
// step k runs, tensors of at least D(k) bytes are only on the host. Those of
// them that were written up to step i may have been copied earlier; all others
// are copied after i has ended and before k starts. So
//
//   start(k) >= end(i) + (D(k) - bytes written up to i) / rate to the host
//
// for every i before k. The way back is analogous: by the start of any later
// step j, all of the D(k) bytes have returned except those that are read after
// j. Only whole tensors move, so the bytes are rounded up to a sum of whole
// tensors' sizes (whole_tensors.h). Together with the times of the kernels,
// which run one after the other, these constraints are the edges of a graph
// whose longest path is the bound. It holds for every choice of tensors and
// times, given the order of the kernels. To guarantee this,
// - an output that could overwrite an input does not count at its kernel, since
//   a tensor may come back only to be overwritten there;
// - a fed tensor need not leave, since the caller has its bytes: it may arrive
//   late, or again;
// - an alias waits for nothing, so only kernels count as readers and writers.
#ifndef SPILLWAY_TUNER_BOUND_LOWER_BOUND_H_
#define SPILLWAY_TUNER_BOUND_LOWER_BOUND_H_

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "graph/graph.h"
#include "simulator/device_profile.h"
#include "tuner/model/step_model.h"

namespace spillway {

struct StepTimeBound {
  int64_t step_ns = 0;
  // The sum of all kernels: the compute lane is idle for the rest of step_ns.
  int64_t kernels_ns = 0;
  // Waits on the longest path: for bytes that leave, for bytes that arrive, for
  // clones, and for the host to issue a kernel. Kernels outside the path may
  // run meanwhile.
  int64_t out_ns = 0;
  int64_t in_ns = 0;
  int64_t recompute_ns = 0;
  int64_t issue_ns = 0;
  // The sum of all collectives, which run one after the other on their lane.
  int64_t communication_ns = 0;
  // The most bytes that must be off the device at one step.
  int64_t most_bytes_away = 0;
};

// The bound, raised to the time of the graph's collectives. `kernel_ns`: by
// node.
StepTimeBound WithCommunication(StepTimeBound bound, const Graph& graph,
                                const IdMap<NodeId, int64_t>& kernel_ns);

// "compute" if the compute lane is idle for less than a twentieth of the step;
// "communication" if the collectives take as long as the step; else the longest
// wait: "recomputation", "copies to the host", "copies to the device" or "the
// host's calls".
std::string BoundReason(const StepTimeBound& bound);

// Cost: O(steps * tensors alive at a step) in the worst case.
StepTimeBound LowerBound(const StepModel& model, const DeviceProfile& profile,
                         int64_t budget_bytes);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_BOUND_LOWER_BOUND_H_
