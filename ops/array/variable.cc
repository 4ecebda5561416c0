#include "ops/array/variable.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "executor/session/resident_values.h"
#include "graph/well_known_ops.h"
#include "ops/common/stated_type.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferVariable(
    const InferContext& node) {
  SPILLWAY_ASSIGN_OR_RETURN(TensorType type, StatedType(node.attributes));
  SPILLWAY_RETURN_IF_ERROR(CheckInitializer(node.attributes, type));
  SPILLWAY_RETURN_IF_ERROR(node.attributes.GetBool("trainable", true).status());
  SPILLWAY_RETURN_IF_ERROR(node.attributes.GetBool("saved", true).status());
  return std::vector{std::move(type)};
}

}  // namespace

Op Variable() {
  return {.def = {.name = std::string(kVariable),
                  .outputs = {"y"},
                  .attributes = {"dtype", "shape", "initializer", "trainable",
                                 "saved"},
                  .infer = InferVariable,
                  .resident = true}};
}

}  // namespace spillway::ops
