#include "ops/transpose.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/gradient.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> Infer(const InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> perm,
                            node.attributes.GetInts("perm"));
  std::vector<int64_t> sorted = perm;
  std::ranges::sort(sorted);
  bool is_permutation = static_cast<int>(perm.size()) == x.shape.rank();
  for (size_t i = 0; i < sorted.size(); ++i) {
    is_permutation = is_permutation && sorted[i] == static_cast<int64_t>(i);
  }
  if (!is_permutation) {
    return InvalidArgument(
        fmt::format("attribute 'perm' must order the {} dimensions of x; it is "
                    "[{}]",
                    x.shape.rank(), fmt::join(perm, ", ")));
  }
  std::vector<int64_t> dims;
  for (const int64_t axis : perm) {
    dims.push_back(x.shape.dim(static_cast<int>(axis)));
  }
  return std::vector{
      TensorType{.dtype = x.dtype, .shape = Shape(std::move(dims))}};
}

absl::StatusOr<std::vector<Tensor>> Gradient(GradientContext& grad) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> perm,
                            grad.attributes().GetInts("perm"));
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  }
  return std::vector{grad.Add("Transpose", {grad.dy(0)}, {{"perm", inverse}})};
}

}  // namespace

Op Transpose() {
  return {.def = {.name = "Transpose",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = {"perm"},
                  .infer = Infer,
                  .gradient = Gradient},
          .kernels = {{DeviceKind::kCpu, TransposeCpu}}};
}

absl::StatusOr<StridedCopy> TransposeCopy(const KernelRequest& node) {
  const TensorType& x = node.inputs[0];
  const Shape& y = node.outputs[0].shape;
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> perm,
                            node.attributes.GetInts("perm"));
  const std::vector<int64_t> x_strides = RowMajorStrides(x.shape);
  std::vector<int64_t> from_strides;
  for (const int64_t axis : perm) {
    from_strides.push_back(x_strides[static_cast<size_t>(axis)]);
  }
  return StridedCopy{.sizes = y.dims(),
                     .from_strides = std::move(from_strides),
                     .to_strides = RowMajorStrides(y),
                     .element_bytes = SizeOf(x.dtype)};
}

}  // namespace spillway::ops
