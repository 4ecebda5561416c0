// One node of the model being converted: what a converter reads and writes.
//
//   absl::Status ConvertRelu(NodeConversion& node) {
//     SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
//     x.tensor = node.Add("Relu", {x.tensor});
//     node.Set(0, x);
//     return absl::OkStatus();
//   }
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_NODE_CONVERSION_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_NODE_CONVERSION_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/convert/import_state.h"
#include "onnx_model/file/node_view.h"

namespace spillway::onnx_model {

class NodeConversion {
 public:
  // All inputs of `node` are defined and known (ModelValue::is_known).
  NodeConversion(ImportState& state, const NodeView& node)
      : state_(state), node_(node) {}

  ImportState& state() { return state_; }
  const ImportState& state() const { return state_; }
  const NodeView& node() const { return node_; }
  int64_t opset() const { return node_.opset(); }

  // Inputs. All but `has` are for inputs that are there (CHECKed): those that
  // the op requires (OpEntry), and others after `has`.
  bool has(int input) const { return node_.has_input(input); }
  const ModelValue& value(int input) const;
  int rank(int input) const { return static_cast<int>(dims(input).size()); }
  const std::vector<int64_t>& dims(int input) const {
    return value(input).dims;
  }
  ElementType type(int input) const { return value(input).type; }
  bool IsConstant(int input) const { return value(input).constant.has_value(); }
  bool IsWeight(int input) const;  // that no one has read yet
  absl::StatusOr<Constant> ConstantInput(int input) const;
  // A constant of integers; a scalar is a list of one.
  absl::StatusOr<std::vector<int64_t>> IntegersInput(int input) const;

  absl::StatusOr<Arranged> Input(int input);
  // The tensor with the value's dimensions in this order. A weight that no one
  // has read yet lies so from the start.
  absl::StatusOr<Tensor> InputInOrder(int input, const Order& order);
  // A weight operand: also a constant of reals is a variable then.
  absl::StatusOr<Tensor> WeightInOrder(int input, const Order& order,
                                       WeightRole role = WeightRole::kTrained);
  absl::StatusOr<Arranged> BoundWeight(int input, const WeightOrder& order,
                                       WeightRole role = WeightRole::kTrained);

  // The axis that an attribute or input means, from 0 on. Errors:
  // INVALID_ARGUMENT if a value of `rank` dimensions has none such.
  absl::StatusOr<int> Axis(int64_t axis, int rank) const;
  absl::StatusOr<std::vector<int>> Axes(const std::vector<int64_t>& axes,
                                        int rank) const;

  // The node that stands for this one has its name; Helper nodes are in a scope
  // of that name.
  Tensor Add(std::string op, std::vector<Tensor> inputs,
             Attributes attributes = {});
  std::vector<Tensor> AddAll(std::string op, std::vector<Tensor> inputs,
                             Attributes attributes = {});
  Tensor Helper(std::string op, std::vector<Tensor> inputs,
                Attributes attributes = {});
  // A scalar of the dtype of `like`.
  Tensor Number(double value, Tensor like);
  NameScope scope();

  // Outputs. Whether someone reads it.
  bool IsWanted(int output) const;
  // Without a type, that of input 0. An output that the node leaves
  // out is ignored.
  void Set(int output, Arranged value);
  void Set(int output, Arranged value, ElementType type);
  void Set(int output, Constant value);
  // A tensor that is a weight, every element `fill`.
  void SetFilled(int output, ElementType type, std::vector<int64_t> dims,
                 double fill);
  void SetSequence(int output, SplitSequence sequence);
  // The output is the input itself.
  void SetToInput(int output, int input);

 private:
  const std::string& name();

  ImportState& state_;
  NodeView node_;
  std::string name_;  // of the node of the graph, once there is one
  bool is_used_ = false;
};

// Whether `dims` are positive and few enough for a tensor; zero dimensions are
// possible for constants alone.
absl::Status CheckDims(const std::vector<int64_t>& dims);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_NODE_CONVERSION_H_
