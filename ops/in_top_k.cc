#include "ops/in_top_k.h"

#include <fmt/format.h>

#include <vector>

#include "base/status_macros.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> Infer(const InferContext& node) {
  const TensorType& predictions = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("predictions", predictions));
  SPILLWAY_RETURN_IF_ERROR(ExpectRank("predictions", predictions, 2));
  const Shape rows = {predictions.shape.dim(0)};
  SPILLWAY_RETURN_IF_ERROR(ExpectType("labels", node.inputs[1],
                                      {.dtype = DType::kInt32, .shape = rows},
                                      "the rows of predictions"));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t k, node.attributes.GetInt("k"));
  if (k < 1) {
    return InvalidArgument(
        fmt::format("attribute 'k' must be positive; it is {}", k));
  }
  return std::vector{TensorType{.dtype = DType::kBool, .shape = rows}};
}

}  // namespace

Op InTopK() {
  return {.def = {.name = "InTopK",
                  .inputs = {"predictions", "labels"},
                  .outputs = {"y"},
                  .attributes = {"k"},
                  .infer = Infer,
                  .cost = ElementwiseCost},
          .kernels = {{DeviceKind::kCpu, InTopKCpu}}};
}

}  // namespace spillway::ops
