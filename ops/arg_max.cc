#include "ops/arg_max.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> Infer(const InferContext& node) {
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
                  .infer = Infer,
                  .cost = ElementwiseCost},
          .kernels = {{DeviceKind::kCpu, ArgMaxCpu}}};
}

}  // namespace spillway::ops
