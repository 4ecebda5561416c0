#include "ops/linear/conv.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/conv.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

// Parameter `spatial`: the number of spatial dimensions.
namespace spillway::ops {
namespace {

using Types = std::vector<TensorType>;

absl::StatusOr<Types> InferConv(int spatial, const InferContext& node) {
  const TensorType& x = node.inputs[0];
  const TensorType& filter = node.inputs[1];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", x));
  SPILLWAY_RETURN_IF_ERROR(ExpectFilterDType("filter", filter, x.dtype));
  SPILLWAY_RETURN_IF_ERROR(ExpectConvRanks(spatial, x.shape, filter.shape));
  SPILLWAY_ASSIGN_OR_RETURN(const ConvGeometry conv,
                            ReadConv(node.attributes, x.shape, filter.shape));
  return Types{{.dtype = x.dtype, .shape = ConvOutput(conv)}};
}

// Checks that `dy` has the type that a convolution with these attributes
// produces.
absl::Status ExpectOutput(const Attributes& attributes, const Shape& x,
                          const Shape& filter, const TensorType& dy) {
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("dy", dy));
  SPILLWAY_ASSIGN_OR_RETURN(const ConvGeometry conv,
                            ReadConv(attributes, x, filter));
  return ExpectType("dy", dy, {.dtype = dy.dtype, .shape = ConvOutput(conv)},
                    "the convolution's output");
}

// Checks the optional addend of an input gradient of type `dx`.
absl::Status ExpectAddend(const InferContext& node, const TensorType& dx,
                          const Shape& filter) {
  if (node.inputs.size() <= kConvAddend) return absl::OkStatus();
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("addend", node.inputs[kConvAddend], dx, "dx"));
  SPILLWAY_ASSIGN_OR_RETURN(const ConvGeometry conv,
                            ReadConv(node.attributes, dx.shape, filter));
  if (IsPointwise(conv)) return absl::OkStatus();
  return InvalidArgument(
      "an addend needs a window of one element, strides of 1, no padding and "
      "no groups");
}

absl::StatusOr<Types> InferBackpropInput(int spatial,
                                         const InferContext& node) {
  const TensorType& filter = node.inputs[0];
  const TensorType& dy = node.inputs[1];
  SPILLWAY_ASSIGN_OR_RETURN(const Shape x,
                            node.attributes.GetShape("input_shape"));
  SPILLWAY_RETURN_IF_ERROR(ExpectConvRanks(spatial, x, filter.shape));
  SPILLWAY_RETURN_IF_ERROR(ExpectOutput(node.attributes, x, filter.shape, dy));
  SPILLWAY_RETURN_IF_ERROR(ExpectFilterDType("filter", filter, dy.dtype));
  const TensorType dx = {.dtype = dy.dtype, .shape = x};
  SPILLWAY_RETURN_IF_ERROR(ExpectAddend(node, dx, filter.shape));
  return Types{dx};
}

absl::StatusOr<DType> ReadFilterDType(const Attributes& attributes,
                                      DType fallback) {
  if (!attributes.contains("dtype")) return fallback;
  return attributes.GetDType("dtype");
}

absl::StatusOr<Types> InferBackpropFilter(int spatial,
                                          const InferContext& node) {
  const TensorType& x = node.inputs[0];
  const TensorType& dy = node.inputs[1];
  SPILLWAY_ASSIGN_OR_RETURN(const Shape shape,
                            node.attributes.GetShape("filter_shape"));
  SPILLWAY_RETURN_IF_ERROR(ExpectConvRanks(spatial, x.shape, shape));
  SPILLWAY_RETURN_IF_ERROR(ExpectOutput(node.attributes, x.shape, shape, dy));
  SPILLWAY_RETURN_IF_ERROR(ExpectDType("x", x, dy.dtype));
  SPILLWAY_ASSIGN_OR_RETURN(const DType dtype,
                            ReadFilterDType(node.attributes, dy.dtype));
  const TensorType filter = {.dtype = dtype, .shape = shape};
  SPILLWAY_RETURN_IF_ERROR(ExpectFilterDType("dfilter", filter, dy.dtype));
  return Types{filter};
}

absl::StatusOr<std::vector<Tensor>> ConvGradient(int spatial,
                                                 GradientContext& grad) {
  const std::string name = fmt::format("Conv{}DBackprop", spatial);
  const Tensor x = grad.x(0);
  const Tensor filter = grad.x(1);
  std::vector<Tensor> gradients(2);
  if (grad.wants(0)) {
    Attributes attributes = grad.attributes();
    attributes.Set("input_shape", x.shape());
    gradients[0] =
        grad.Add(name + "Input", {filter, grad.dy(0)}, std::move(attributes));
  }
  if (grad.wants(1)) {
    Attributes attributes = grad.attributes();
    attributes.Set("filter_shape", filter.shape());
    attributes.Set("dtype", filter.type().dtype);
    gradients[1] =
        grad.Add(name + "Filter", {x, grad.dy(0)}, std::move(attributes));
  }
  return gradients;
}

Op Forward(int spatial) {
  const auto cost = [](const OpContext& node) -> OpCost {
    return {.flops = ConvFlops(node.inputs[1].shape, node.outputs[0].shape),
            .bytes = TouchedBytes(node),
            .arithmetic = ConvArithmetic(node.attributes, node.inputs[0].shape,
                                         node.inputs[1].shape)};
  };
  return {.def = {.name = fmt::format("Conv{}D", spatial),
                  .inputs = {"x", "filter"},
                  .outputs = {"y"},
                  .attributes = ConvAttributeNames({}),
                  .infer = std::bind_front(InferConv, spatial),
                  .gradient = std::bind_front(ConvGradient, spatial),
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, ConvCpu}}};
}

Op BackpropFilter(int spatial) {
  const auto cost = [](const OpContext& node) -> OpCost {
    return {.flops = ConvFlops(node.outputs[0].shape, node.inputs[1].shape),
            .bytes = TouchedBytes(node),
            .arithmetic = ConvArithmetic(node.attributes, node.inputs[0].shape,
                                         node.outputs[0].shape)};
  };
  return {.def = {.name = fmt::format("Conv{}DBackpropFilter", spatial),
                  .inputs = {"x", "dy"},
                  .outputs = {"dfilter"},
                  .attributes = ConvAttributeNames({"filter_shape", "dtype"}),
                  .infer = std::bind_front(InferBackpropFilter, spatial),
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, ConvBackpropFilterCpu}}};
}

Op BackpropInput(int spatial) {
  const auto cost = [](const OpContext& node) -> OpCost {
    return {.flops = ConvFlops(node.inputs[0].shape, node.inputs[1].shape),
            .bytes = TouchedBytes(node),
            .arithmetic = ConvArithmetic(node.attributes, node.outputs[0].shape,
                                         node.inputs[0].shape)};
  };
  return {.def = {.name = fmt::format("Conv{}DBackpropInput", spatial),
                  .inputs = {"filter", "dy", "addend"},
                  .outputs = {"dx"},
                  .optional_inputs = 1,
                  .attributes = ConvAttributeNames({"input_shape"}),
                  .infer = std::bind_front(InferBackpropInput, spatial),
                  .cost = cost,
                  .in_place = {{.input = kConvAddend, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, ConvBackpropInputCpu}}};
}

}  // namespace

Op Conv2D() { return Forward(2); }
Op Conv2DBackpropFilter() { return BackpropFilter(2); }
Op Conv2DBackpropInput() { return BackpropInput(2); }
Op Conv3D() { return Forward(3); }
Op Conv3DBackpropFilter() { return BackpropFilter(3); }
Op Conv3DBackpropInput() { return BackpropInput(3); }

}  // namespace spillway::ops
