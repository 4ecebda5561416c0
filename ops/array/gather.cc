#include "ops/array/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::Status ExpectIndices(const TensorType& indices) {
  if (indices.dtype == DType::kInt32 || indices.dtype == DType::kInt64) {
    return absl::OkStatus();
  }
  return InvalidArgument(fmt::format("indices must be int32 or int64; it is {}",
                                     indices.ToString()));
}

// The dimension of the rows, from 0 on.
absl::StatusOr<int> AxisOf(const Attributes& attributes, const Shape& table) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t axis, attributes.GetInt("axis", 0));
  return ResolveAxis(axis, table.rank());
}

Shape GatheredShape(const Shape& table, const Shape& indices, int axis) {
  std::vector<int64_t> dims = table.dims();
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, indices.dims().begin(),
              indices.dims().end());
  return Shape(std::move(dims));
}

GatherSizes SizesOf(const Shape& table, const Shape& indices, int axis) {
  GatherSizes sizes = {.n = table.dim(axis), .count = indices.num_elements()};
  for (int i = 0; i < axis; ++i) sizes.outer *= table.dim(i);
  for (int i = axis + 1; i < table.rank(); ++i) sizes.inner *= table.dim(i);
  return sizes;
}

absl::StatusOr<std::vector<TensorType>> InferGather(const InferContext& node) {
  const TensorType& x = node.inputs[0];
  const TensorType& indices = node.inputs[1];
  SPILLWAY_RETURN_IF_ERROR(ExpectRankAtLeast("x", x, 1));
  SPILLWAY_RETURN_IF_ERROR(ExpectIndices(indices));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, AxisOf(node.attributes, x.shape));
  return std::vector{TensorType{
      .dtype = x.dtype, .shape = GatheredShape(x.shape, indices.shape, axis)}};
}

absl::StatusOr<std::vector<TensorType>> InferGatherGrad(
    const InferContext& node) {
  const TensorType& dy = node.inputs[0];
  const TensorType& indices = node.inputs[1];
  SPILLWAY_RETURN_IF_ERROR(ExpectDType("dy", dy, DType::kFloat32));
  SPILLWAY_RETURN_IF_ERROR(ExpectIndices(indices));
  SPILLWAY_ASSIGN_OR_RETURN(const Shape shape,
                            node.attributes.GetShape("input_shape"));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, AxisOf(node.attributes, shape));
  const TensorType expected = {
      .dtype = DType::kFloat32,
      .shape = GatheredShape(shape, indices.shape, axis)};
  SPILLWAY_RETURN_IF_ERROR(ExpectType("dy", dy, expected, "the rows of x"));
  return std::vector{TensorType{.dtype = DType::kFloat32, .shape = shape}};
}

absl::StatusOr<std::vector<Tensor>> GatherGradient(GradientContext& grad) {
  Attributes attributes = grad.attributes();
  attributes.Set("input_shape", grad.x(0).shape());
  return std::vector{
      grad.Add("GatherGrad", {grad.dy(0), grad.x(1)}, attributes), Tensor()};
}

int64_t RowsOf(const InferContext& node) {
  const absl::StatusOr<int> axis =
      AxisOf(node.attributes, node.inputs[0].shape);
  return axis.ok() ? node.inputs[0].shape.dim(*axis) : 1;
}

// The rows that are read, not the whole table.
OpCost GatherCost(const OpContext& node) {
  return {.bytes =
              2 * node.outputs[0].num_bytes() + node.inputs[1].num_bytes()};
}

OpCost GatherGradCost(const OpContext& node) {
  return {.flops = static_cast<double>(node.inputs[0].num_elements()),
          .bytes = TouchedBytes(node)};
}

}  // namespace

Op Gather() {
  return {.def = {.name = "Gather",
                  .inputs = {"x", "indices"},
                  .outputs = {"y"},
                  .attributes = {"axis"},
                  .infer = InferGather,
                  .gradient = GatherGradient,
                  .cost = GatherCost,
                  .index_inputs = {{.input = 1, .limit = RowsOf}}},
          .kernels = {{DeviceKind::kCpu, GatherCpu}}};
}

Op GatherGrad() {
  return {.def = {.name = "GatherGrad",
                  .inputs = {"dy", "indices"},
                  .outputs = {"dx"},
                  .attributes = {"axis", "input_shape"},
                  .infer = InferGatherGrad,
                  .cost = GatherGradCost},
          .kernels = {{DeviceKind::kCpu, GatherGradCpu}}};
}

GatherSizes GatherSizesOf(const KernelRequest& node) {
  const Shape& table = node.inputs[0].shape;
  return SizesOf(table, node.inputs[1].shape, *AxisOf(node.attributes, table));
}

GatherSizes GatherGradSizesOf(const KernelRequest& node) {
  const Shape& table = node.outputs[0].shape;
  return SizesOf(table, node.inputs[1].shape, *AxisOf(node.attributes, table));
}

}  // namespace spillway::ops
