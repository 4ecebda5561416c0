#include "ops/array/constant.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "executor/session/resident_values.h"
#include "graph/well_known_ops.h"
#include "ops/common/stated_type.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferConstant(
    const InferContext& node) {
  SPILLWAY_ASSIGN_OR_RETURN(TensorType type, StatedType(node.attributes));
  SPILLWAY_RETURN_IF_ERROR(CheckConstant(node.attributes, type));
  return std::vector{std::move(type)};
}

}  // namespace

Op Const() {
  return {.def = {.name = std::string(kConst),
                  .outputs = {"y"},
                  .attributes = {"dtype", "shape", "value", "values"},
                  .infer = InferConstant,
                  .resident = true}};
}

}  // namespace spillway::ops
