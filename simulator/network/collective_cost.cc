#include "simulator/network/collective_cost.h"

#include <algorithm>
#include <cmath>

#include "graph/well_known_ops.h"

namespace spillway {
namespace {

constexpr int64_t kPairBytes = 8;   // place and value
constexpr int64_t kCountBytes = 8;  // the ranks agree on a number of pairs

bool IsSparse(const Node& node) {
  return node.op == kSparseAllReduce || node.op == kErrorFeedbackAllReduce;
}

double TopkFraction(const Node& node) {
  return node.attributes.GetReal("topk_fraction", 0).value_or(0);
}

int64_t Elements(const Graph& graph, const Node& node) {
  int64_t elements = 0;
  for (const ValueId output : node.outputs) {
    elements += graph.type(output).num_elements();
  }
  return elements;
}

// The type in which the node sends one of its outputs.
DType WireType(const Node& node, DType own) {
  if (!node.attributes.contains("wire")) return own;
  return node.attributes.GetDType("wire").value_or(own);
}

double SparseNs(const NetworkModel& network, const Graph& graph,
                const Node& node) {
  const auto bytes = static_cast<double>(WireBytes(graph, node));
  const double ns = AllGatherNs(network, bytes);
  return TopkFraction(node) > 0 ? ns : ns + AllReduceNs(network, kCountBytes);
}

}  // namespace

int64_t WireBytes(const Graph& graph, const Node& node) {
  if (IsSparse(node)) {
    const auto elements = static_cast<double>(Elements(graph, node));
    const double part = TopkFraction(node) > 0 ? TopkFraction(node) : 1;
    return kPairBytes * std::llround(std::ceil(elements * part));
  }
  int64_t bytes = 0;
  for (const ValueId output : node.outputs) {
    TensorType type = graph.type(output);
    type.dtype = WireType(node, type.dtype);
    bytes += type.num_bytes();
  }
  return bytes;
}

double CollectiveNs(const NetworkModel& network, const Graph& graph,
                    const Node& node) {
  if (IsSparse(node)) return SparseNs(network, graph, node);
  const double ns =
      AllReduceNs(network, static_cast<double>(WireBytes(graph, node)));
  if (node.op != kAllReduceInTurn) return ns;
  const auto turns =
      std::ranges::count(graph.nodes(), kAllReduceInTurn, &Node::op);
  return ns / static_cast<double>(std::max<ptrdiff_t>(1, turns));
}

}  // namespace spillway
