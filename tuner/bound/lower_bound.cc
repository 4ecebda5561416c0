#include "tuner/bound/lower_bound.h"

#include <algorithm>

#include "graph/well_known_ops.h"
#include "tuner/bound/path_bound.h"

namespace spillway {
namespace {

// A step is bound by compute if its compute lane is idle for less than this
// fraction (1 / kLeastIdlePart).
constexpr int64_t kLeastIdlePart = 20;

}  // namespace

std::string BoundReason(const StepTimeBound& bound) {
  // A wait that overlaps kernels costs no time, and a short wait hardly any.
  const int64_t idle_ns = bound.step_ns - bound.kernels_ns;
  if (idle_ns * kLeastIdlePart < bound.step_ns || idle_ns == 0) {
    return "compute";
  }
  if (bound.communication_ns == bound.step_ns) return "communication";
  const int64_t copies_ns = std::max(bound.out_ns, bound.in_ns);
  if (bound.issue_ns > std::max(copies_ns, bound.recompute_ns)) {
    return "the host's calls";
  }
  if (bound.recompute_ns > copies_ns) return "recomputation";
  return bound.out_ns >= bound.in_ns ? "copies to the host"
                                     : "copies to the device";
}

StepTimeBound WithCommunication(StepTimeBound bound, const Graph& graph,
                                const IdMap<NodeId, int64_t>& kernel_ns) {
  for (const Node& node : graph.nodes()) {
    if (IsCollective(node.op)) bound.communication_ns += kernel_ns[node.id];
  }
  bound.step_ns = std::max(bound.step_ns, bound.communication_ns);
  return bound;
}

StepTimeBound LowerBound(const StepModel& model, const DeviceProfile& profile,
                         int64_t budget_bytes) {
  const StepPath path = LongestPath(
      {.model = model, .profile = profile, .budget_bytes = budget_bytes});
  return {.step_ns = path.end.ns,
          .kernels_ns = model.kernels_ns,
          .out_ns = path.end.out_ns,
          .in_ns = path.end.in_ns,
          .issue_ns = path.end.issue_ns,
          .most_bytes_away = path.most_bytes_away};
}

}  // namespace spillway
