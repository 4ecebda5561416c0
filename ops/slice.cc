#include "ops/slice.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/gradient.h"

namespace spillway::ops {
namespace {

absl::Status CheckLength(const std::vector<int64_t>& list,
                         std::string_view name, const TensorType& x) {
  if (static_cast<int>(list.size()) == x.shape.rank()) return absl::OkStatus();
  return InvalidArgument(fmt::format("attribute '{}' has {} items; x is {}",
                                     name, list.size(), x.ToString()));
}

absl::StatusOr<std::vector<TensorType>> Infer(const InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> begin,
                            node.attributes.GetInts("begin"));
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<int64_t> size,
                            node.attributes.GetInts("size"));
  SPILLWAY_RETURN_IF_ERROR(CheckLength(begin, "begin", x));
  SPILLWAY_RETURN_IF_ERROR(CheckLength(size, "size", x));
  for (size_t axis = 0; axis < size.size(); ++axis) {
    const int64_t dim = x.shape.dims()[axis];
    const bool begins_inside = begin[axis] >= 0 && begin[axis] < dim;
    if (begins_inside && size[axis] == -1) size[axis] = dim - begin[axis];
    if (!begins_inside || size[axis] < 1 || size[axis] > dim - begin[axis]) {
      return InvalidArgument(
          fmt::format("{} elements from {} do not lie in dimension {} of {}",
                      size[axis], begin[axis], axis, x.ToString()));
    }
  }
  return std::vector{
      TensorType{.dtype = x.dtype, .shape = Shape(std::move(size))}};
}

absl::StatusOr<std::vector<Tensor>> Gradient(GradientContext& grad) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> begin,
                            grad.attributes().GetInts("begin"));
  AttributeValue::List paddings;
  for (size_t axis = 0; axis < begin.size(); ++axis) {
    const int64_t after = grad.x(0).shape().dims()[axis] - begin[axis] -
                          grad.y(0).shape().dims()[axis];
    paddings.push_back(std::vector<int64_t>{begin[axis], after});
  }
  return std::vector{
      grad.Add("Pad", {grad.dy(0)}, {{"paddings", std::move(paddings)}})};
}

}  // namespace

Op Slice() {
  return {.def = {.name = "Slice",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = {"begin", "size"},
                  .infer = Infer,
                  .gradient = Gradient,
                  .cost = [](const OpContext& node) -> OpCost {
                    return {.bytes = 2 * node.outputs[0].num_bytes()};
                  }},
          .kernels = {{DeviceKind::kCpu, SliceCpu}}};
}

absl::StatusOr<StridedCopy> SliceCopy(const KernelRequest& node) {
  const TensorType& x = node.inputs[0];
  const Shape& y = node.outputs[0].shape;
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> begin,
                            node.attributes.GetInts("begin"));
  StridedCopy copy = {.sizes = y.dims(),
                      .from_strides = RowMajorStrides(x.shape),
                      .to_strides = RowMajorStrides(y),
                      .element_bytes = SizeOf(x.dtype)};
  for (size_t axis = 0; axis < begin.size(); ++axis) {
    copy.from_start += begin[axis] * copy.from_strides[axis];
  }
  return copy;
}

}  // namespace spillway::ops
