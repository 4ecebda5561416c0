// Local functions of a model (ModelProto.functions): PyTorch's newer exporter
// writes modules as such.
#ifndef SPILLWAY_ONNX_MODEL_FILE_INLINE_FUNCTIONS_H_
#define SPILLWAY_ONNX_MODEL_FILE_INLINE_FUNCTIONS_H_

#include <onnx/onnx_pb.h>

#include <deque>
#include <vector>

#include "absl/status/statusor.h"

namespace spillway::onnx_model {

// The nodes of the model's graph, with every call of a function replaced by the
// nodes of its body. Its values get the name of the call as a prefix.
struct InlinedNodes {
  std::vector<const onnx::NodeProto*> nodes = {};  // of the model, or `copies`
  std::deque<onnx::NodeProto> copies = {};
};

// `model` is borrowed. Errors: INVALID_ARGUMENT naming the function for one
// that calls itself, a call with too many inputs or outputs, a body with a
// subgraph, and for a model of more than 2^20 nodes or a node of more than 2^16
// inputs.
absl::StatusOr<InlinedNodes> InlineFunctions(const onnx::ModelProto& model);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_FILE_INLINE_FUNCTIONS_H_
