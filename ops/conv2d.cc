#include "ops/conv2d.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

using Types = std::vector<TensorType>;

std::vector<std::string> AttributeNames(std::vector<std::string> more) {
  more.insert(more.end(), kWindowAttributes.begin(), kWindowAttributes.end());
  more.emplace_back("groups");
  return more;
}

Shape OutputShape(const Conv2DGeometry& conv) {
  return {conv.batch, conv.rows.output, conv.columns.output, conv.out_channels};
}

// Two times the multiply-adds, counting those with padding.
double Flops(const Shape& filter, const Shape& y) {
  const int64_t products = filter.num_elements() / filter.dim(0);
  return 2.0 * static_cast<double>(y.num_elements()) *
         static_cast<double>(products);
}

absl::StatusOr<Types> Infer(const InferContext& node) {
  const TensorType& x = node.inputs[0];
  const TensorType& filter = node.inputs[1];
  RETURN_IF_ERROR(ExpectFloating("x", x));
  RETURN_IF_ERROR(ExpectDType("filter", filter, x.dtype));
  ASSIGN_OR_RETURN(const Conv2DGeometry conv,
                   ReadConv2D(node.attributes, x.shape, filter.shape));
  return Types{{.dtype = x.dtype, .shape = OutputShape(conv)}};
}

// `dy` is what a convolution of x and filter gives.
absl::Status ExpectOutput(const Attributes& attributes, const Shape& x,
                          const Shape& filter, const TensorType& dy) {
  RETURN_IF_ERROR(ExpectFloating("dy", dy));
  ASSIGN_OR_RETURN(const Conv2DGeometry conv,
                   ReadConv2D(attributes, x, filter));
  return ExpectType("dy", dy, {.dtype = dy.dtype, .shape = OutputShape(conv)},
                    "the convolution's output");
}

absl::StatusOr<Types> InferBackpropInput(const InferContext& node) {
  const TensorType& filter = node.inputs[0];
  const TensorType& dy = node.inputs[1];
  ASSIGN_OR_RETURN(const Shape x, node.attributes.GetShape("input_shape"));
  RETURN_IF_ERROR(ExpectOutput(node.attributes, x, filter.shape, dy));
  RETURN_IF_ERROR(ExpectDType("filter", filter, dy.dtype));
  return Types{{.dtype = dy.dtype, .shape = x}};
}

absl::StatusOr<Types> InferBackpropFilter(const InferContext& node) {
  const TensorType& x = node.inputs[0];
  const TensorType& dy = node.inputs[1];
  ASSIGN_OR_RETURN(const Shape filter,
                   node.attributes.GetShape("filter_shape"));
  RETURN_IF_ERROR(ExpectOutput(node.attributes, x.shape, filter, dy));
  RETURN_IF_ERROR(ExpectDType("x", x, dy.dtype));
  return Types{{.dtype = dy.dtype, .shape = filter}};
}

absl::StatusOr<std::vector<Tensor>> Gradient(GradientContext& grad) {
  const Tensor x = grad.x(0);
  const Tensor filter = grad.x(1);
  std::vector<Tensor> gradients(2);
  if (grad.wants(0)) {
    Attributes attributes = grad.attributes();
    attributes.Set("input_shape", x.shape());
    gradients[0] = grad.Add("Conv2DBackpropInput", {filter, grad.dy(0)},
                            std::move(attributes));
  }
  if (grad.wants(1)) {
    Attributes attributes = grad.attributes();
    attributes.Set("filter_shape", filter.shape());
    gradients[1] = grad.Add("Conv2DBackpropFilter", {x, grad.dy(0)},
                            std::move(attributes));
  }
  return gradients;
}

}  // namespace

absl::StatusOr<Conv2DGeometry> ReadConv2D(const Attributes& attributes,
                                          const Shape& x, const Shape& filter) {
  if (x.rank() != 4 || filter.rank() != 4) {
    return InvalidArgument(fmt::format(
        "x must be [N, H, W, I] and filter [O, KH, KW, I / groups]; they are "
        "{} and {}",
        x.ToString(), filter.ToString()));
  }
  RETURN_IF_ERROR(Annotate(CheckShape(x), "x"));
  RETURN_IF_ERROR(Annotate(CheckShape(filter), "filter"));
  ASSIGN_OR_RETURN(const int64_t groups, attributes.GetInt("groups", 1));
  const int64_t in = x.dim(3);
  const int64_t out = filter.dim(0);
  if (groups < 1 || in % groups != 0 || out % groups != 0) {
    return InvalidArgument(fmt::format(
        "'groups' must divide the {} channels of x and the {} filters; it is "
        "{}",
        in, out, groups));
  }
  if (filter.dim(3) != in / groups) {
    return InvalidArgument(fmt::format(
        "the last dimension of filter {} must be {}, the channels of x {} "
        "over {} group{}",
        filter.ToString(), in / groups, x.ToString(), groups,
        groups == 1 ? "" : "s"));
  }
  ASSIGN_OR_RETURN(const Window window,
                   ReadWindow(attributes, std::vector{x.dim(1), x.dim(2)},
                              std::vector{filter.dim(1), filter.dim(2)}));
  return Conv2DGeometry{.batch = x.dim(0),
                        .in_channels = in,
                        .out_channels = out,
                        .groups = groups,
                        .rows = window[0],
                        .columns = window[1]};
}

Op Conv2D() {
  const auto cost = [](const OpContext& node) -> OpCost {
    return {.flops = Flops(node.inputs[1].shape, node.outputs[0].shape),
            .bytes = TouchedBytes(node)};
  };
  return {.def = {.name = "Conv2D",
                  .inputs = {"x", "filter"},
                  .outputs = {"y"},
                  .attributes = AttributeNames({}),
                  .infer = Infer,
                  .gradient = Gradient,
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, Conv2DCpu}}};
}

Op Conv2DBackpropFilter() {
  const auto cost = [](const OpContext& node) -> OpCost {
    return {.flops = Flops(node.outputs[0].shape, node.inputs[1].shape),
            .bytes = TouchedBytes(node)};
  };
  return {.def = {.name = "Conv2DBackpropFilter",
                  .inputs = {"x", "dy"},
                  .outputs = {"dfilter"},
                  .attributes = AttributeNames({"filter_shape"}),
                  .infer = InferBackpropFilter,
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, Conv2DBackpropFilterCpu}}};
}

Op Conv2DBackpropInput() {
  const auto cost = [](const OpContext& node) -> OpCost {
    return {.flops = Flops(node.inputs[0].shape, node.inputs[1].shape),
            .bytes = TouchedBytes(node)};
  };
  return {.def = {.name = "Conv2DBackpropInput",
                  .inputs = {"filter", "dy"},
                  .outputs = {"dx"},
                  .attributes = AttributeNames({"input_shape"}),
                  .infer = InferBackpropInput,
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, Conv2DBackpropInputCpu}}};
}

}  // namespace spillway::ops
