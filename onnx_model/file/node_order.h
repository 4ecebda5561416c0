// The nodes of a model's graph in an order in which each comes after what it
// reads. Files need not be sorted.
#ifndef SPILLWAY_ONNX_MODEL_FILE_NODE_ORDER_H_
#define SPILLWAY_ONNX_MODEL_FILE_NODE_ORDER_H_

#include <onnx/onnx_pb.h>

#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace spillway::onnx_model {

// "Conv /layer1/conv1/Conv", or for a node without a name "Conv of output y".
std::string DescribeNode(const onnx::NodeProto& node);

// What `node` reads: its inputs, without those that are left out, and what its
// subgraphs (of If) read from outside.
std::vector<std::string> ReadsOf(const onnx::NodeProto& node);

// Sorted; among nodes that may come next, the first of `nodes`. `given`: the
// values that no node makes. Errors: INVALID_ARGUMENT for a value that two
// nodes make or that is given as well, one that no node makes, and a cycle,
// naming nodes and values.
absl::StatusOr<std::vector<const onnx::NodeProto*>> SortNodes(
    std::span<const onnx::NodeProto* const> nodes,
    const std::set<std::string>& given);

// The nodes of a subgraph, sorted; it may read values of the graph around it.
// Errors: those of SortNodes.
absl::StatusOr<std::vector<const onnx::NodeProto*>> SortSubgraph(
    const onnx::GraphProto& graph);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_FILE_NODE_ORDER_H_
