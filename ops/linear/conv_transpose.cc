#include "ops/linear/conv_transpose.h"

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

namespace spillway::ops {
namespace {

// Prefix of messages about the convolution.
constexpr const char* kTransposed =
    "in the convolution that is transposed, whose x has output_shape";

absl::StatusOr<ConvGeometry> Read(int spatial, const Attributes& attributes,
                                  const Shape& y, const Shape& filter) {
  SPILLWAY_RETURN_IF_ERROR(ExpectConvRanks(spatial, y, filter));
  return ReadConv(attributes, y, filter);
}

absl::StatusOr<std::vector<TensorType>> InferConvTranspose(
    int spatial, const InferContext& node) {
  const TensorType& x = node.inputs[0];
  const TensorType& filter = node.inputs[1];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", x));
  SPILLWAY_RETURN_IF_ERROR(ExpectFilterDType("filter", filter, x.dtype));
  SPILLWAY_ASSIGN_OR_RETURN(const Shape y,
                            node.attributes.GetShape("output_shape"));
  const auto conv = Read(spatial, node.attributes, y, filter.shape);
  SPILLWAY_RETURN_IF_ERROR(Annotate(conv.status(), kTransposed));
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("x", x, {.dtype = x.dtype, .shape = ConvOutput(*conv)},
                 "the output of the convolution of output_shape"));
  return std::vector{TensorType{.dtype = x.dtype, .shape = y}};
}

// The attributes of the convolution.
Attributes WithoutOutputShape(const Attributes& attributes) {
  Attributes others;
  for (const auto& [name, value] : attributes.items()) {
    if (name != "output_shape") others.Set(name, value);
  }
  return others;
}

// y is linear in each of x and filter: dx is the convolution itself, applied to
// dy; dfilter is its filter gradient with dy in place of its x.
absl::StatusOr<std::vector<Tensor>> ConvTransposeGradient(
    int spatial, GradientContext& grad) {
  const std::string conv = fmt::format("Conv{}D", spatial);
  const Tensor x = grad.x(0);
  const Tensor filter = grad.x(1);
  Attributes attributes = WithoutOutputShape(grad.attributes());
  std::vector<Tensor> gradients(2);
  if (grad.wants(0)) {
    gradients[0] = grad.Add(conv, {grad.dy(0), filter}, attributes);
  }
  if (grad.wants(1)) {
    attributes.Set("filter_shape", filter.shape());
    attributes.Set("dtype", filter.type().dtype);
    gradients[1] = grad.Add(conv + "BackpropFilter", {grad.dy(0), x},
                            std::move(attributes));
  }
  return gradients;
}

Op Transpose(int spatial) {
  const auto cost = [](const OpContext& node) -> OpCost {
    return {.flops = ConvFlops(node.inputs[1].shape, node.inputs[0].shape),
            .bytes = TouchedBytes(node),
            .arithmetic = ConvArithmetic(node.attributes, node.outputs[0].shape,
                                         node.inputs[1].shape)};
  };
  return {.def = {.name = fmt::format("Conv{}DTranspose", spatial),
                  .inputs = {"x", "filter"},
                  .outputs = {"y"},
                  .attributes = ConvAttributeNames({"output_shape"}),
                  .infer = std::bind_front(InferConvTranspose, spatial),
                  .gradient = std::bind_front(ConvTransposeGradient, spatial),
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, ConvTransposeCpu}}};
}

}  // namespace

Op Conv2DTranspose() { return Transpose(2); }
Op Conv3DTranspose() { return Transpose(3); }

}  // namespace spillway::ops
