// How the nodes of a model hang together, as a search for patterns asks.
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_NODE_LINKS_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_NODE_LINKS_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace spillway::onnx_model {

// Who makes and who reads each value. Nodes are of the default domain and have
// one output. Borrows nodes and graph.
class NodeLinks {
 public:
  NodeLinks(std::span<const onnx::NodeProto* const> nodes,
            const onnx::GraphProto& graph);

  // How often the value is read; an output of the model counts.
  size_t NumReads(const std::string& value) const;

  // The node of this op, with an input, that makes the value, which is read so
  // often; null if it is not so.
  const onnx::NodeProto* Maker(const std::string& value, std::string_view op,
                               size_t reads = 1) const;

  // The one node that reads the value, if it is of this op.
  const onnx::NodeProto* OnlyReader(const std::string& value,
                                    std::string_view op) const;

  // The value of a constant of one element.
  std::optional<double> Number(const std::string& value) const;

  // The dimensions of an initializer, seen through a few Identity nodes.
  std::optional<std::vector<int64_t>> InitializerDims(std::string value) const;

  // The dimensions of a matrix that is an initializer, perhaps behind a
  // Transpose.
  std::optional<std::vector<int64_t>> MatrixDims(
      const std::string& value) const;

 private:
  // Of an initializer or of a Constant node.
  const onnx::TensorProto* Tensor(const std::string& value) const;

  std::unordered_map<std::string, const onnx::TensorProto*> initializers_;
  std::unordered_map<std::string, const onnx::NodeProto*> makers_;
  std::unordered_map<std::string, std::vector<const onnx::NodeProto*>> readers_;
};

// A value as a product: a number times other values, through the Mul nodes, and
// the Div nodes by a number, that no one else reads.
struct Product {
  double number = 1;
  std::vector<std::string> factors = {};
  std::vector<const onnx::NodeProto*> nodes = {};
};

// `reads`: how often the value itself may be read.
Product ProductOf(const NodeLinks& links, const std::string& value,
                  size_t reads = 1);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_NODE_LINKS_H_
