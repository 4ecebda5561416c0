// StepModel: a training step as seen by swapping. It has the steps in order,
// with their times and the bytes live on the device without swaps, and the gaps
// between two uses in which a tensor could be on the host.
//
//   steps      0    1    2    3    4    5    6
//   tensor     w    r              r         r      w: written, r: read
//   gaps                [3]            [5]         steps without it
//
// The lower bounds and the search for swaps (bound/, swap_search.h) read
// nothing else.
#ifndef SPILLWAY_TUNER_MODEL_STEP_MODEL_H_
#define SPILLWAY_TUNER_MODEL_STEP_MODEL_H_

#include <cstdint>
#include <vector>

#include "executor/plan/compile_options.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/order/schedule.h"
#include "simulator/device_profile.h"
#include "tuner/model/step_list.h"

namespace spillway {

struct ModelStep {
  NodeId node = {};
  StepKind kind = StepKind::kCompute;
  int64_t ns = 0;  // of a kernel; of a feed, its copy; else 0
  // Device bytes that are alive (aligned, residents included).
  int64_t live_bytes = 0;
  // The part of live_bytes that swaps could avoid: outputs that could overwrite
  // an input that came back only for this step.
  int64_t in_place_bytes = 0;
  // Of a feed: the first kernel that reads it; -1: no kernel.
  int32_t first_kernel = -1;
};

// A possible copy of a storage (graph/storage.h) to the host: one for all of
// its gaps, under any name by which it is read after them.
struct CopyOut {
  ValueId value = {};   // the root of the storage
  int32_t written = 0;  // the step that writes the bytes
  int64_t bytes = 0;    // exact
  // While no copy runs in the other direction, and while one always does; 0
  // for a feed.
  int64_t ns = 0;
  int64_t shared_ns = 0;
  // How much longer kernels beside it take (DeviceProfile::
  // kernel_ns_per_copied_byte); 0 for a feed.
  int64_t slows_ns = 0;
  // The caller has the bytes: nothing is copied out (graph/feeds.h).
  bool is_feed = false;
};

// Steps (last, next), both exclusive, between two uses of a buffer.
struct Gap {
  // The storage that is read after the gap, of the list from which the model
  // was made; kNoStorage: several are.
  StorageIndex storage = kNoStorage;
  int32_t copy_out = 0;  // index into StepModel::copies
  int32_t last = 0;
  int32_t next = 0;  // reads the bytes
  // The first kernel from `next` on that uses the bytes, since an alias does
  // not wait for them; steps.size(): no kernel.
  int32_t kernel = 0;
  int64_t aligned_bytes = 0;  // freed in between
  // As for CopyOut.
  int64_t copy_in_ns = 0;
  int64_t shared_in_ns = 0;
  int64_t in_slows_ns = 0;
  // False: no graph edit can use the gap, since the bytes are overwritten in
  // place or get another name from a computing node. Only the lower bound
  // counts it.
  bool is_movable = true;
};

struct StepModel {
  std::vector<ModelStep> steps = {};
  std::vector<CopyOut> copies = {};
  std::vector<Gap> gaps = {};  // by `last`, then by buffer
  int64_t peak_bytes = 0;      // the most live bytes of any step
  int64_t kernels_ns = 0;      // of all kernels
};

// Copy times come from the profile. Cost: O(steps + slots).
StepModel MakeStepModel(const StepList& list, const DeviceProfile& profile);

// `schedule`: of a graph without swaps. `kernel_ns`: by node.
StepModel MakeStepModel(const Graph& graph, const OpRegistry& ops,
                        const Schedule& schedule, const CompileOptions& options,
                        const IdMap<NodeId, int64_t>& kernel_ns,
                        const DeviceProfile& profile);

// Whether the bytes could be on the host while `step` runs.
inline bool Spans(const Gap& gap, int32_t step) {
  return gap.last < step && step < gap.next;
}

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MODEL_STEP_MODEL_H_
