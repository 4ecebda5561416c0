// Nodes that cannot be imported, as nodes that can be planned
// (docs/graph_file.md, "A graph that can only be planned").
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_PLAN_ONLY_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_PLAN_ONLY_H_

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/convert/import_state.h"
#include "onnx_model/convert/stated_types.h"

namespace spillway::onnx_model {

// Adds a plan-only node for `node`, whose inputs are all known, and defines its
// outputs. Its tensors are as they lie: it adds no transpose. Returns the
// outputs whose type nobody states ("y of NonZero a"); if there are any, no
// node is added and nothing is defined. Errors: those of ImportState::TensorOf.
absl::StatusOr<std::vector<std::string>> AddPlanOnly(
    const onnx::NodeProto& node, const StatedTypes& stated, ImportState& state);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_PLAN_ONLY_H_
