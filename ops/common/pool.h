// Shared by all pools, in two or three spatial dimensions: name, window from
// the attributes, output type and cost.
#ifndef SPILLWAY_OPS_COMMON_POOL_H_
#define SPILLWAY_OPS_COMMON_POOL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/op_def.h"
#include "ops/common/window.h"

namespace spillway {

inline const std::vector<std::string> kPoolAttributes = {
    "ksize", "strides", "padding", "explicit_paddings"};

// Suffix of "MaxPool" and "AvgPool" in the names of ops with this number of
// spatial dimensions.
inline std::string PoolSuffix(int spatial) { return spatial == 3 ? "3D" : ""; }

// The window over x [N, spatial..., C] with at least two dimensions. Every
// window covers at least one element that is not padding. Errors:
// INVALID_ARGUMENT.
absl::StatusOr<Window> ReadPoolWindow(const Attributes& attributes,
                                      const Shape& x);

// The type of a pool of x, which must have `spatial` spatial dimensions.
// Errors: INVALID_ARGUMENT.
absl::StatusOr<TensorType> PoolOutput(int spatial, const Attributes& attributes,
                                      const TensorType& x);

// One flop for each element of each window of y.
OpCost PoolCost(const OpContext& node, const Shape& y);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_POOL_H_
