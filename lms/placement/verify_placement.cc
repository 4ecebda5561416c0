#include "lms/placement/verify_placement.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/copies.h"
#include "graph/order/schedule.h"
#include "graph/storage.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"
#include "lms/check_kept.h"

namespace spillway {
namespace {

class PlacementVerifier {
 public:
  PlacementVerifier(const Graph& original, const Graph& placed,
                    const OpRegistry& ops)
      : original_(original),
        placed_(placed),
        ops_(ops),
        storages_(StorageMap::Of(original, ops)) {}

  absl::Status Run() {
    if (placed_.num_nodes() < original_.num_nodes()) {
      return Internal("placement removed nodes");
    }
    for (const Node& node : original_.nodes()) {
      SPILLWAY_RETURN_IF_ERROR(CheckNode(node, placed_.node(node.id)));
      SPILLWAY_RETURN_IF_ERROR(CheckInputs(node, placed_.node(node.id)));
    }
    for (size_t i = original_.num_nodes(); i < placed_.num_nodes(); ++i) {
      SPILLWAY_RETURN_IF_ERROR(CheckCopy(placed_.node(NodeId(i))));
    }
    for (const Node& node : placed_.nodes()) {
      SPILLWAY_RETURN_IF_ERROR(CheckMemory(node));
    }
    return CheckVersions();
  }

 private:
  bool IsAdded(NodeId id) const { return id.index() >= original_.num_nodes(); }

  absl::Status CheckNode(const Node& before, const Node& after) const {
    if (SameButForPlacement(before, after) &&
        before.control_inputs == after.control_inputs) {
      return CheckTypesKept(original_, placed_, before.id);
    }
    return Internal(fmt::format("placement changed more than the memory of {}",
                                before.name));
  }

  // The value of the original that it is, or is a copy of.
  ValueId Contracted(ValueId value) const {
    const Node& producer = placed_.producer(value);
    return IsAdded(producer.id) && producer.inputs.size() == 1
               ? producer.inputs[0]
               : value;
  }

  absl::Status CheckInputs(const Node& before, const Node& after) const {
    std::vector<ValueId> inputs = after.inputs;
    for (ValueId& input : inputs) input = Contracted(input);
    if (inputs == before.inputs) return absl::OkStatus();
    return Internal(
        fmt::format("after placement, {} reads other values", before.name));
  }

  absl::Status CheckCopy(const Node& node) const {
    const bool is_copy = node.op == kCopyToHost || node.op == kCopyToDevice;
    if (!is_copy || node.inputs.size() != 1 || node.outputs.size() != 1 ||
        node.attributes != Attributes() || node.cost.has_value() ||
        node.placement != OutputsAt(node) ||
        IsAdded(placed_.value(node.inputs[0]).producer) ||
        placed_.type(node.inputs[0]) != placed_.type(node.outputs[0])) {
      return Internal(
          fmt::format("{} is not a copy of a value of the graph", node.name));
    }
    return absl::OkStatus();
  }

  absl::Status CheckMemory(const Node& node) const {
    for (const ValueId input : node.inputs) {
      if (OutputsAt(placed_.producer(input)) == InputsAt(node)) continue;
      return Internal(fmt::format("{} reads {}, which is in the other memory",
                                  node.name, placed_.ValueName(input)));
    }
    // Other names of bytes lie where the bytes are, and a node overwrites only
    // what is where it runs: it reads them.
    return absl::OkStatus();
  }

  // In a verified graph, all orders agree about overwriting nodes and readers.
  absl::Status CheckVersions() const {
    SPILLWAY_ASSIGN_OR_RETURN(const Schedule before,
                              MakeSchedule(original_, ops_, {}));
    SPILLWAY_ASSIGN_OR_RETURN(const Schedule after,
                              MakeSchedule(placed_, ops_, {}));
    for (size_t i = original_.num_nodes(); i < placed_.num_nodes(); ++i) {
      const Node& copy = placed_.node(NodeId(i));
      absl::Status same;
      for (const NodeId overwriter : storages_.of(copy.inputs[0]).overwriters) {
        const bool is_after =
            after.step_of[overwriter] < after.step_of[copy.id];
        ForEachReader(placed_, copy.outputs[0], [&](NodeId reader) {
          const bool was_after =
              before.step_of[overwriter] < before.step_of[reader];
          if (is_after == was_after) return;
          same.Update(Internal(fmt::format(
              "{} holds another value than {} read, since {} overwrites it",
              copy.name, placed_.node(reader).name,
              placed_.node(overwriter).name)));
        });
      }
      SPILLWAY_RETURN_IF_ERROR(same);
    }
    return absl::OkStatus();
  }

  const Graph& original_;
  const Graph& placed_;
  const OpRegistry& ops_;
  const StorageMap storages_;  // of the original
};

}  // namespace

absl::Status VerifyPlacement(const Graph& original, const Graph& placed,
                             const OpRegistry& ops) {
  return PlacementVerifier(original, placed, ops).Run();
}

}  // namespace spillway
