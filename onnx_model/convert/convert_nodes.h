// All nodes of a model, one after the other.
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_CONVERT_NODES_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_CONVERT_NODES_H_

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/convert/import_state.h"
#include "onnx_model/convert/stated_types.h"

namespace spillway::onnx_model {

// Folds or converts `nodes`, which are sorted. Inputs and initializers are
// defined. With `plan_only`, what is not supported becomes plan-only nodes, and
// is returned; null: it is an error. Errors: INVALID_ARGUMENT naming all that
// is not supported, all values of plan-only nodes whose type nobody states, or
// the node that is wrong.
absl::StatusOr<std::vector<OnnxUnsupported>> ConvertNodes(
    std::span<const onnx::NodeProto* const> nodes, const StatedTypes* plan_only,
    ImportState& state);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_CONVERT_NODES_H_
