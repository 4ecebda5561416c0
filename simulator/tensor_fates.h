// What becomes of each tensor of a simulated step: whether it stays on the
// device or spends part of its life on the host, when it is away, what that
// frees and what it costs. A feed that is fed again counts as one that moves.
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

// Of a tensor that a node or a feed wrote; its copies that come back from the
// host belong to it and have no row of their own.
struct TensorFate {
  BufferId buffer = {};  // first bytes of the tensor; its name is the tensor's
  int64_t bytes = 0;     // aligned: what it takes of the arena
  bool moves = false;    // is copied to the host, or fed again
  Interval life = {};    // ns: first to last moment on the device
  std::vector<Interval> away = {};  // ns: no copy of it is on the device
  int64_t copy_out_ns = 0;          // of all its copies to the host
  int64_t copy_in_ns = 0;           // back from it, or of a feed
  int64_t stall_ns = 0;             // of the compute lane, charged to these
  // Bytes x seconds that it would take from its first moment on the device to
  // its last, less what it does take. Below 0 where copies overlap.
  double freed_byte_seconds = 0;
  bool at_peak = false;  // on the device when most bytes are in use
};

// All transient tensors on the device of at least `min_bytes` (aligned),
// largest first, then as the plan lists them. Without a limit, their stalls add
// up to those of all copies but of variables. Cost: O(steps + buffers log
// buffers).
std::vector<TensorFate> FindTensorFates(const ExecutionPlan& plan,
                                        const SimulatedStep& step,
                                        int64_t min_bytes = 0);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_TENSOR_FATES_H_
