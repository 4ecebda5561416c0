#include "graph/tensor_type.h"

#include <fmt/format.h>

namespace spillway {

std::string TensorType::ToString() const {
  return fmt::format("{}{}", DTypeName(dtype), shape.ToString());
}

}  // namespace spillway
