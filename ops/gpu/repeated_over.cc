#include "ops/gpu/repeated_over.h"

#include <cstddef>
#include <vector>

#include "ops/common/broadcast_dims.h"

namespace spillway {

gpu::RepeatedDims RepeatedOver(std::span<const Shape> shapes) {
  const std::vector<BroadcastDim> dims = MergedDims(shapes);
  gpu::RepeatedDims result = {.rank = static_cast<int>(dims.size())};
  for (size_t i = 0; i < dims.size(); ++i) {
    result.n *= dims[i].size;
    result.dims[i].size = dims[i].size;
    for (size_t k = 0; k < dims[i].steps.size(); ++k) {
      result.dims[i].steps[k] = dims[i].steps[k];
    }
  }
  return result;
}

}  // namespace spillway
