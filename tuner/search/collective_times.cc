#include "tuner/search/collective_times.h"

#include <algorithm>
#include <array>

#include "graph/well_known_ops.h"

namespace spillway {

IdMap<NodeId, Interval> CollectiveTimes(
    const Graph& graph, const Schedule& schedule,
    const IdMap<NodeId, int64_t>& kernel_ns) {
  IdMap<NodeId, Interval> times(graph.num_nodes());
  std::array<int64_t, 2> free_ns = {};  // of kernels, of collectives
  bool has_collectives = false;
  for (const NodeId id : schedule.order) {
    const Node& node = graph.node(id);
    const bool is_collective = IsCollective(node.op);
    has_collectives |= is_collective;
    int64_t& lane_ns = free_ns[is_collective ? 1 : 0];
    int64_t begin_ns = lane_ns;
    for (const ValueId input : node.inputs) {
      begin_ns = std::max(begin_ns, times[graph.value(input).producer].end);
    }
    for (const NodeId control : node.control_inputs) {
      begin_ns = std::max(begin_ns, times[control].end);
    }
    lane_ns = begin_ns + kernel_ns[id];
    times[id] = {begin_ns, lane_ns};
  }
  return has_collectives ? times : IdMap<NodeId, Interval>();
}

}  // namespace spillway
