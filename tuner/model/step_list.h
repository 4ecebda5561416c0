// StepList: the steps of a graph in order, as arrays: what each of them reads
// and writes. The tuner changes it (materialize.h) many thousand times while it
// searches, since it costs microseconds, while an edit of the graph costs
// milliseconds.
#ifndef SPILLWAY_TUNER_MODEL_STEP_LIST_H_
#define SPILLWAY_TUNER_MODEL_STEP_LIST_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "executor/plan/compile_options.h"
#include "executor/plan/in_place_rule.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/order/schedule.h"
#include "graph/storage.h"

namespace spillway {

// An index into StepList::storages.
using StorageIndex = int32_t;
inline constexpr StorageIndex kNoStorage = -1;

// Bytes that a step makes, under all their names (graph/storage.h).
struct ListedStorage {
  ValueId root = {};
  int64_t bytes = 0;  // exact
  bool on_device = true;
  bool can_be_copied = true;  // Storage::can_be_copied
  bool is_fetched = false;    // stays until the end of the step
};

// What an input slot reads or an output is. Residents, which are always there,
// have no storage.
struct Slot {
  ValueId value = {};
  StorageIndex storage = kNoStorage;
};

struct ListedStep {
  NodeId node = {};
  StepKind kind = StepKind::kCompute;
  int64_t kernel_ns = 0;  // 0 unless it runs on the compute lane
  int64_t workspace_bytes = 0;
  const InPlaceRule* in_place = nullptr;  // borrowed
  // In StepList::slots: the inputs, then the outputs. A feed has no inputs.
  int32_t first_slot = 0;
  int32_t num_inputs = 0;
  int32_t num_outputs = 0;
};

struct StepList {
  std::vector<ListedStorage> storages = {};
  std::vector<ListedStep> steps = {};
  std::vector<Slot> slots = {};
  int64_t resident_bytes = 0;

  std::span<const Slot> inputs(const ListedStep& step) const {
    return std::span(slots).subspan(static_cast<size_t>(step.first_slot),
                                    static_cast<size_t>(step.num_inputs));
  }
  std::span<const Slot> outputs(const ListedStep& step) const {
    return std::span(slots).subspan(
        static_cast<size_t>(step.first_slot + step.num_inputs),
        static_cast<size_t>(step.num_outputs));
  }
};

using InPlaceRules = IdMap<NodeId, InPlaceRule>;
InPlaceRules FindInPlaceRules(const Graph& graph, const OpRegistry& ops,
                              const StorageMap& storages);

// The steps of a graph without swaps. Nodes on the host, the copies to and from
// it, and collectives take no time here: only the simulator knows their lanes.
// `kernel_ns`: by node. Borrows `rules`, those of the graph, for the life of
// the list.
StepList ListOf(const Graph& graph, const OpRegistry& ops,
                const StorageMap& storages, const Schedule& schedule,
                const CompileOptions& options,
                const IdMap<NodeId, int64_t>& kernel_ns,
                const InPlaceRules& rules);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MODEL_STEP_LIST_H_
