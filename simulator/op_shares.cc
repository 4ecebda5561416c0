#include "simulator/op_shares.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>

#include "graph/node_cost.h"
#include "graph/order/schedule.h"
#include "simulator/cost_model.h"
#include "simulator/node_signature.h"

namespace spillway {
namespace {

// What an op's nodes take, and what they would take at the peaks alone.
struct OpTime {
  int64_t nodes = 0;
  int64_t ns = 0;
  double seconds_of_flops = 0;
  double seconds_of_bytes = 0;

  void operator+=(const OpTime& other) {
    nodes += other.nodes;
    ns += other.ns;
    seconds_of_flops += other.seconds_of_flops;
    seconds_of_bytes += other.seconds_of_bytes;
  }
};

OpShare ShareOf(std::string_view op, const OpTime& time, const OpTime& all) {
  const double seconds =
      static_cast<double>(std::max<int64_t>(1, time.ns)) * 1e-9;
  return {.op = std::string(op),
          .nodes = time.nodes,
          .ns = time.ns,
          .of_time = static_cast<double>(time.ns) /
                     static_cast<double>(std::max<int64_t>(1, all.ns)),
          .of_flops_peak = time.seconds_of_flops / seconds,
          .of_memory_peak = time.seconds_of_bytes / seconds};
}

}  // namespace

StepShares SharesOfOps(const Graph& graph, const OpRegistry& ops,
                       std::span<const ValueId> fetches,
                       const DeviceProfile& profile) {
  const IdMap<NodeId, bool> runs = NodesToRun(graph, ops, fetches);
  std::map<std::string_view, OpTime> by_op;
  OpTime all;
  for (const Node& node : graph.nodes()) {
    if (!runs[node.id]) continue;
    const auto kernel = profile.kernels.find(NodeSignature(graph, node));
    if (kernel == profile.kernels.end()) continue;
    const OpCost cost = NodeCost(graph, ops, node.id);
    const OpTime time = {
        .nodes = 1,
        .ns = kernel->second,
        .seconds_of_flops = cost.flops / PeakFlopRate(graph, node, profile),
        .seconds_of_bytes =
            static_cast<double>(cost.bytes) / profile.memory_bytes_per_second};
    by_op[node.op] += time;
    all += time;
  }
  StepShares shares = {.all = ShareOf("all", all, all)};
  for (const auto& [op, time] : by_op) {
    shares.ops.push_back(ShareOf(op, time, all));
  }
  std::ranges::stable_sort(shares.ops, std::greater(), &OpShare::ns);
  return shares;
}

}  // namespace spillway
