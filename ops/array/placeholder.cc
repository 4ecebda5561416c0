#include "ops/array/placeholder.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/well_known_ops.h"
#include "ops/common/stated_type.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferPlaceholder(
    const InferContext& node) {
  SPILLWAY_ASSIGN_OR_RETURN(TensorType type, StatedType(node.attributes));
  return std::vector{std::move(type)};
}

}  // namespace

Op Placeholder() {
  return {.def = {.name = std::string(kPlaceholder),
                  .outputs = {"y"},
                  .attributes = {"dtype", "shape"},
                  .infer = InferPlaceholder}};
}

}  // namespace spillway::ops
