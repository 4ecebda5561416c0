// Types and dimensions of the values of nodes that cannot be imported: what the
// file states, or what the op's own rule gives.
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_STATED_TYPES_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_STATED_TYPES_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "onnx_model/convert/import_state.h"
#include "onnx_model/convert/model_inputs.h"
#include "onnx_model/file/node_view.h"

namespace spillway::onnx_model {

struct StatedType {
  ElementType type = ElementType::kFloat;
  std::vector<int64_t> dims = {};
};

// What the file says of its values (value_info), with the dimensions bound as
// those of its inputs are: a symbol has its value, and where the batch is not
// what the file fixes, dimension 0 follows it.
class StatedTypes {
 public:
  // `graph` is borrowed.
  StatedTypes(const onnx::GraphProto& graph, const ModelInputs& inputs);

  // Nullopt if the file does not say, says it of something that is no tensor,
  // or in symbols that no input has.
  std::optional<StatedType> Find(const std::string& name) const;

 private:
  std::optional<int64_t> ValueOf(const onnx::TensorShapeProto::Dimension& dim,
                                 bool is_first) const;

  std::map<std::string, const onnx::TypeProto*> types_;
  std::map<std::string, int64_t> symbols_;
  int64_t batch_size_;
  int64_t file_batch_;
};

// The outputs of `node` by the rule of its op, where that needs no values of
// tensors: outputs like the input, recurrent layers, TopK, GridSample. Empty if
// there is no such rule; inputs that it needs and that are not known count as
// none.
std::vector<StatedType> OutputsByRule(const NodeView& node, ImportState& state);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_STATED_TYPES_H_
