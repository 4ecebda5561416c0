// RecomputeSpace: everything that the choice between keeping, swapping and
// recomputing each tensor is made from, for one order of the nodes.
#ifndef SPILLWAY_TUNER_MODEL_RECOMPUTE_SPACE_H_
#define SPILLWAY_TUNER_MODEL_RECOMPUTE_SPACE_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/order/schedule.h"
#include "graph/storage.h"
#include "lms/options.h"
#include "simulator/device_profile.h"
#include "tuner/model/derived_nodes.h"
#include "tuner/model/step_list.h"
#include "tuner/model/step_model.h"

namespace spillway {

// A node that computes values a second time.
struct Remake {
  NodeId original = {};
  // -1: a node with the same op and all outputs of the original. Otherwise the
  // node that OpDef::derive gives for this output, with this output only.
  int32_t derived_output = -1;
  StepKind kind = StepKind::kCompute;  // kAlias: names existing bytes
  int64_t kernel_ns = 0;
  int64_t workspace_bytes = 0;
  InPlaceRule in_place = {};
  // Of the graph: what it reads, slot by slot, and the values that it equals.
  std::vector<Slot> inputs = {};
  std::vector<Slot> outputs = {};
  // Steps that overwrite a variable that it reads, after the original has read
  // it: it must run before them.
  std::vector<int32_t> updates = {};
  int32_t last_legal_step = 0;  // the first of `updates`, or the last step
  // All that it reads has been made before (a tensor that grows may be complete
  // only long after the original has read it).
  int32_t first_legal_step = 0;

  bool IsLegalBefore(int32_t step) const {
    return first_legal_step <= step && step <= last_legal_step;
  }
};

inline constexpr int32_t kNoRemake = -1;

// Borrows graph, ops and profile. Movable, not copyable.
struct RecomputeSpace {
  const Graph& graph;
  const OpRegistry& ops;
  const DeviceProfile& profile;
  StorageMap storages;
  InPlaceRules rules = {};
  Schedule schedule = {};
  StepList list = {};    // of the schedule
  StepModel model = {};  // of the list
  std::vector<Remake> remakes = {};
  IdMap<ValueId, int32_t> remake_of = {};  // an index, or kNoRemake

  // By storage: its gaps, in time, and the last step that uses it.
  std::vector<std::vector<int32_t>> gaps_of = {};
  std::vector<int32_t> last_use = {};
  // Storages by last_use, without those that stay until the end of the step.
  std::vector<StorageIndex> by_last_use = {};

  // A time in which a storage need not be on the device: a gap of the model, or
  // the tail after its last use, where only clones can read it. Tails follow
  // the gaps: that of storage s is number model.gaps.size() + s.
  size_t num_gaps() const { return model.gaps.size() + list.storages.size(); }
  bool IsTail(size_t gap) const { return gap >= model.gaps.size(); }
  size_t TailOf(StorageIndex storage) const {
    return model.gaps.size() + static_cast<size_t>(storage);
  }
  // By gap: whether a clone may compute the storage again for the reader after
  // the gap (of a tail: for any clone).
  std::vector<char> can_recompute = {};
  // By gap: the kernel time of that clone alone.
  std::vector<int64_t> remake_ns = {};
};

struct SpaceInputs {
  const Graph& graph;  // without clones and swaps
  const OpRegistry& ops;
  const Schedule& schedule;
  const CompileOptions& compile;
  const IdMap<NodeId, int64_t>& kernel_ns;  // by node
  const DerivedKernels& derived;
  const DeviceProfile& profile;
  // Nodes that are never computed again; checked elsewhere.
  const RecomputeOptions& recompute;
};

RecomputeSpace MakeRecomputeSpace(const SpaceInputs& inputs);

// For the bound (bound/joint_bound.h), by gap of the model: the least kernel
// time of a clone that makes its bytes. Of the storages that one node makes,
// only the largest has the time.
std::vector<int64_t> LeastRemakeNs(const RecomputeSpace& space);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MODEL_RECOMPUTE_SPACE_H_
