// All nodes of a model, one after the other.
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_CONVERT_NODES_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_CONVERT_NODES_H_

#include <span>

#include "absl/status/status.h"
#include "onnx_model/convert/import_state.h"

namespace spillway::onnx_model {

// Folds or converts `nodes`, which are sorted. Inputs and initializers are
// defined. Errors: INVALID_ARGUMENT naming all that is not supported, or the
// node that is wrong.
absl::Status ConvertNodes(std::span<const onnx::NodeProto* const> nodes,
                          ImportState& state);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_CONVERT_NODES_H_
