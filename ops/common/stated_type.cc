#include "ops/common/stated_type.h"

#include <utility>

#include "base/status_macros.h"

namespace spillway {

absl::StatusOr<TensorType> StatedType(const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const DType dtype, attributes.GetDType("dtype"));
  SPILLWAY_ASSIGN_OR_RETURN(Shape shape, attributes.GetShape("shape"));
  return TensorType{.dtype = dtype, .shape = std::move(shape)};
}

absl::StatusOr<DType> StatedDType(const Attributes& attributes,
                                  DType otherwise) {
  if (!attributes.contains("dtype")) return otherwise;
  return attributes.GetDType("dtype");
}

}  // namespace spillway
