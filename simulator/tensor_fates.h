// The fate of each tensor of a simulated step: whether it stays on the device,
// moves to the host for a part of its life or is computed a second time, when
// it is away, the memory that this frees and the time that it costs. A feed
// that is fed again also counts as a tensor that moves.
//
//   device   [== a ==]                [== a, copied back ==]
//   copy out      [=====]
//   copy in                      [====]
//   away                |<------>|
#ifndef SPILLWAY_SIMULATOR_TENSOR_FATES_H_
#define SPILLWAY_SIMULATOR_TENSOR_FATES_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/interval.h"
#include "executor/plan/plan.h"
#include "simulator/simulator.h"

namespace spillway {

// The fate of a tensor that a node or a feed wrote. The copies that come back
// from the host, and the results of its clones, belong to that tensor and have
// no row.
struct TensorFate {
  BufferId buffer = {};     // first of the tensor; has its name
  int64_t bytes = 0;        // aligned: the bytes it occupies in the arena
  bool moves = false;       // is copied to the host, or fed again
  bool recomputed = false;  // by clones
  Interval life = {};       // ns: first to last moment on the device
  std::vector<Interval> away = {};  // ns: no copy is on the device
  int64_t copy_out_ns = 0;          // of all its copies to the host
  int64_t copy_in_ns = 0;           // of its copies back, or of a feed
  int64_t stall_ns = 0;             // of compute, charged to these copies
  int64_t recompute_ns = 0;         // of the clones' kernels
  // Bytes x seconds if it stayed on the device from its first moment to its
  // last, less those that it does occupy. Negative where copies overlap.
  double freed_byte_seconds = 0;
  bool at_peak = false;  // on the device at the memory peak
};

// For the buffers of values that clones compute: the buffer of the original
// value; invalid for all others. `original_of`: by value, as of OriginalValues
// (lms/recompute/clone_nodes.h); empty without clones.
IdMap<BufferId, BufferId> OriginalBuffers(
    const ExecutionPlan& plan, const IdMap<ValueId, ValueId>& original_of);

// All transient device tensors of at least `min_bytes` (aligned), largest
// first, ties in the plan's order. With min_bytes 0, their stalls add up to
// those of all copies except the copies of variables. Cost: O(steps + buffers
// log buffers).
std::vector<TensorFate> FindTensorFates(
    const ExecutionPlan& plan, const SimulatedStep& step, int64_t min_bytes = 0,
    const IdMap<ValueId, ValueId>& original_of = {});

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_TENSOR_FATES_H_
