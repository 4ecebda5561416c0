#include "simulator/cost_model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "graph/node_cost.h"
#include "graph/well_known_ops.h"
#include "simulator/network/collective_cost.h"
#include "simulator/node_signature.h"

namespace spillway {
namespace {

bool IsNarrow(DType dtype) {
  return dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

DType ComputeDType(const Graph& graph, const Node& node) {
  for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs}) {
    for (const ValueId value : *values) {
      if (IsNarrow(graph.type(value).dtype)) return graph.type(value).dtype;
    }
  }
  return DType::kFloat32;
}

double ConvolutionPart(const ConvolutionEfficiency& parts,
                       Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::kPointwiseConvolution) return parts.pointwise;
  if (arithmetic == Arithmetic::kWinogradConvolution) return parts.winograd;
  return parts.other;
}

double ComputeEfficiency(const DeviceProfile& profile, DType dtype,
                         Arithmetic arithmetic) {
  const auto parts = profile.convolution_efficiency.find(dtype);
  return arithmetic == Arithmetic::kGeneral ||
                 parts == profile.convolution_efficiency.end()
             ? profile.compute_efficiency
             : ConvolutionPart(parts->second, arithmetic);
}

// A dtype whose peak the profile states.
DType RatedDType(const DeviceProfile& profile, DType dtype) {
  return profile.flops_per_second.contains(dtype) ? dtype : DType::kFloat32;
}

// Flops per second that kernels of this kind reach.
double FlopRate(const DeviceProfile& profile, DType dtype,
                Arithmetic arithmetic) {
  dtype = RatedDType(profile, dtype);
  return profile.flops_per_second.at(dtype) *
         ComputeEfficiency(profile, dtype, arithmetic);
}

// Whether the node runs on a host that the profile tells apart from the device.
bool HasHostRates(const Node& node, const DeviceProfile& profile) {
  return node.placement == Placement::kHost &&
         profile.host_flops_per_second > 0;
}

int64_t Roofline(const Graph& graph, const OpRegistry& ops, const Node& node,
                 const DeviceProfile& profile) {
  const OpCost cost = NodeCost(graph, ops, node.id);
  const bool by_host = HasHostRates(node, profile);
  const double flop_rate =
      by_host ? profile.host_flops_per_second
              : FlopRate(profile, ComputeDType(graph, node), cost.arithmetic);
  const double byte_rate =
      by_host ? profile.host_memory_bytes_per_second
              : profile.memory_bytes_per_second * profile.memory_efficiency;
  const double seconds = std::max(cost.flops / flop_rate,
                                  static_cast<double>(cost.bytes) / byte_rate);
  return std::max<int64_t>(profile.kernel_ns, std::llround(seconds * 1e9));
}

// nullopt: not measured.
std::optional<int64_t> MeasuredNs(const DeviceProfile& profile,
                                  std::string_view signature,
                                  std::string_view algorithm) {
  const auto algorithms = profile.algorithms.find(signature);
  if (algorithms != profile.algorithms.end()) {
    const auto found = algorithms->second.find(algorithm);
    if (found != algorithms->second.end()) return found->second.ns;
  }
  const auto kernel = profile.kernels.find(signature);
  if (kernel != profile.kernels.end()) return kernel->second;
  return std::nullopt;
}

// Without the network.
int64_t OwnNs(const Graph& graph, const OpRegistry& ops, const Node& node,
              const DeviceProfile& profile, std::string_view algorithm) {
  const bool is_measured =
      !profile.kernels.empty() || !profile.algorithms.empty();
  if (is_measured && !HasHostRates(node, profile)) {
    const std::optional<int64_t> ns =
        MeasuredNs(profile, NodeSignature(graph, node), algorithm);
    if (ns) return *ns;
  }
  return Roofline(graph, ops, node, profile);
}

int64_t EstimateNs(const Graph& graph, const OpRegistry& ops, const Node& node,
                   const DeviceProfile& profile, std::string_view algorithm) {
  if (node.cost && node.cost->time_us > 0) {
    return std::llround(node.cost->time_us * 1e3);
  }
  const int64_t own_ns = OwnNs(graph, ops, node, profile, algorithm);
  if (!profile.network || !IsCollective(node.op)) return own_ns;
  if (profile.network->ranks == 1) return 0;
  return own_ns + std::llround(CollectiveNs(*profile.network, graph, node));
}

}  // namespace

double PeakFlopRate(const Graph& graph, const Node& node,
                    const DeviceProfile& profile) {
  return profile.flops_per_second.at(
      RatedDType(profile, ComputeDType(graph, node)));
}

IdMap<NodeId, int64_t> EstimateKernelTimes(const Graph& graph,
                                           const OpRegistry& ops,
                                           const DeviceProfile& profile,
                                           const AlgorithmNames& algorithms) {
  IdMap<NodeId, int64_t> times;
  times.reserve(graph.num_nodes());
  for (const Node& node : graph.nodes()) {
    times.push_back(EstimateNs(graph, ops, node, profile,
                               AlgorithmOf(algorithms, node.id)));
  }
  return times;
}

}  // namespace spillway
