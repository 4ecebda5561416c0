#include "ops/loss/classify.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferArgMax(const InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", x));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t axis, node.attributes.GetInt("axis"));
  SPILLWAY_ASSIGN_OR_RETURN(const int resolved,
                            ResolveAxis(axis, x.shape.rank()));
  std::vector<int64_t> dims = x.shape.dims();
  dims.erase(dims.begin() + resolved);
  return std::vector{
      TensorType{.dtype = DType::kInt32, .shape = Shape(std::move(dims))}};
}

}  // namespace

Op ArgMax() {
  return {.def = {.name = "ArgMax",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = {"axis"},
                  .infer = InferArgMax,
                  .cost = ElementwiseCost},
          .kernels = {{DeviceKind::kCpu, ArgMaxCpu}}};
}

namespace {

absl::StatusOr<std::vector<TensorType>> InferInTopK(const InferContext& node) {
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
                  .infer = InferInTopK,
                  .cost = ElementwiseCost},
          .kernels = {{DeviceKind::kCpu, InTopKCpu}}};
}

}  // namespace spillway::ops
