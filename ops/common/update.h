// What the ops that update a variable in place (Apply...) share.
#ifndef SPILLWAY_OPS_COMMON_UPDATE_H_
#define SPILLWAY_OPS_COMMON_UPDATE_H_

#include <string>
#include <vector>

#include "graph/op_def.h"

namespace spillway {

// A schema with the inputs variable, `slots`..., gradient, learning_rate, all
// float32: slots and gradient of the variable's shape, the rate a scalar. It
// overwrites variable and slots; output 0 is the updated variable. Lacks
// attributes, infer and cost.
OpDef UpdateDef(const std::string& name, const std::vector<std::string>& slots);

// The output type of such an op. Inputs called "beta_power" are float32[2].
absl::StatusOr<std::vector<TensorType>> InferUpdate(
    const InferContext& node, const std::vector<std::string>& inputs);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_UPDATE_H_
