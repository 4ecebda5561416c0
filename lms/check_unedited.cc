#include "lms/check_unedited.h"

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

absl::Status EditedError(const Node& node) {
  return FailedPrecondition(
      fmt::format("this graph has been edited for LMS already (it has {}); "
                  "edit the original",
                  node.name));
}

}  // namespace

absl::Status CheckHasNoSwaps(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op == kSwapOut || node.op == kSwapIn) return EditedError(node);
  }
  return absl::OkStatus();
}

absl::Status CheckIsUnedited(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (IsCloneName(node.name)) return EditedError(node);
  }
  return CheckHasNoSwaps(graph);
}

}  // namespace spillway
