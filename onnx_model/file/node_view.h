// A node of a model, with attributes read by type and with a name that a graph
// of ours can use.
#ifndef SPILLWAY_ONNX_MODEL_FILE_NODE_VIEW_H_
#define SPILLWAY_ONNX_MODEL_FILE_NODE_VIEW_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace spillway::onnx_model {

// Borrows the node. Getters return the fallback where the attribute is absent.
// Errors: INVALID_ARGUMENT naming the attribute if it is of another type, has a
// real that is not finite or more than 2^24 elements.
class NodeView {
 public:
  // `opset` decides what the op means: the newest version of the op that is not
  // above it.
  NodeView(const onnx::NodeProto& node, int64_t opset)
      : node_(&node), opset_(opset) {}

  const onnx::NodeProto& proto() const { return *node_; }
  const std::string& op() const { return node_->op_type(); }
  const std::string& domain() const { return node_->domain(); }
  int64_t opset() const { return opset_; }

  int num_inputs() const { return node_->input_size(); }
  int num_outputs() const { return node_->output_size(); }
  // "" for an input or output that is left out.
  const std::string& input(int index) const;
  const std::string& output(int index) const;
  bool has_input(int index) const { return !input(index).empty(); }
  bool has_output(int index) const { return !output(index).empty(); }

  bool has(std::string_view attribute) const;
  absl::StatusOr<int64_t> Int(std::string_view name, int64_t fallback) const;
  absl::StatusOr<bool> Bool(std::string_view name, bool fallback) const;
  absl::StatusOr<double> Real(std::string_view name, double fallback) const;
  absl::StatusOr<std::string> Text(std::string_view name,
                                   std::string_view fallback) const;
  // The place of a text among `choices`, of which the first is the default.
  // UNIMPLEMENTED naming another text.
  absl::StatusOr<size_t> Choice(
      std::string_view name,
      std::initializer_list<std::string_view> choices) const;
  absl::StatusOr<std::optional<std::vector<int64_t>>> Ints(
      std::string_view name) const;
  absl::StatusOr<std::optional<std::vector<double>>> Reals(
      std::string_view name) const;
  // Null if absent.
  absl::StatusOr<const onnx::TensorProto*> Tensor(std::string_view name) const;
  absl::StatusOr<const onnx::GraphProto*> Subgraph(std::string_view name) const;

 private:
  const onnx::AttributeProto* Find(std::string_view name) const;
  // Null if absent; an error if it is of another type.
  absl::StatusOr<const onnx::AttributeProto*> FindOf(
      std::string_view name, onnx::AttributeProto::AttributeType type) const;

  const onnx::NodeProto* node_;
  int64_t opset_;
};

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_FILE_NODE_VIEW_H_
