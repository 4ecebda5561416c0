#include "onnx_model/op_family/normalize.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "models/layers/layers.h"
#include "onnx_model/op_family/combine.h"

namespace spillway::onnx_model {
namespace {

// The value with the axes of `dims` reduced to their mean: these become 1.
Arranged MeanOver(NodeConversion& node, const Arranged& x,
                  const std::vector<int>& dims) {
  Arranged mean = x;
  std::vector<int64_t> axes;
  std::vector<int64_t> sizes = x.dims.dims();
  for (const int dim : dims) {
    const std::vector<int>& of_dim = x.axes[static_cast<size_t>(dim)];
    axes.insert(axes.end(), of_dim.begin(), of_dim.end());
    sizes[static_cast<size_t>(dim)] = 1;
  }
  std::ranges::sort(axes);
  mean.dims = Shape(sizes);
  if (!axes.empty()) {
    mean.tensor =
        node.Helper("Mean", {x.tensor}, {{"axes", axes}, {"keep_dims", true}});
  }
  return mean;
}

}  // namespace

absl::StatusOr<Arranged> ChannelsAtEnd(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, node.Input(0));
  if (x.rank() < 2) return Unimplemented("an input without channels");
  if (!x.tensor.is_valid()) return x;
  const std::optional<int> axis = x.OnlyAxis(1);
  if (axis.has_value() && *axis == x.tensor.shape().rank() - 1) return x;
  const Order order = ChannelsLast(x.rank());
  return InOrder(Ordered(node.scope(), x, order), order);
}

absl::StatusOr<Normalized> NormalizeOver(NodeConversion& node,
                                         const Arranged& x,
                                         const std::vector<int>& dims,
                                         double epsilon) {
  Normalized result;
  result.mean = MeanOver(node, x, dims);
  if (!result.mean.tensor.is_valid()) return result;
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged centred,
                            Combine(node, "Sub", x, result.mean));
  Arranged square = centred;
  square.tensor = node.Helper("Mul", {centred.tensor, centred.tensor});
  result.variance = MeanOver(node, square, dims);
  const Tensor variance = result.variance.tensor;
  if (!variance.is_valid()) return result;
  const Tensor sum =
      node.Helper("Add", {variance, node.Number(epsilon, variance)});
  result.inv_std = result.variance;
  result.inv_std.tensor = node.Helper("Power", {sum}, {{"exponent", -0.5}});
  SPILLWAY_ASSIGN_OR_RETURN(result.y,
                            Combine(node, "Mul", centred, result.inv_std));
  return result;
}

absl::StatusOr<Arranged> ScaleAndMove(NodeConversion& node, Arranged y,
                                      const Shape& dims) {
  for (const auto& [input, op] : {std::pair(1, "Mul"), std::pair(2, "Add")}) {
    if (!node.has(input) || !y.tensor.is_valid()) continue;
    SPILLWAY_ASSIGN_OR_RETURN(const Arranged factor, node.Input(input));
    if (factor.dims.num_elements() != dims.num_elements()) {
      return InvalidArgument(fmt::format("its input {} is {}, not {}", input,
                                         factor.dims.ToString(),
                                         dims.ToString()));
    }
    SPILLWAY_ASSIGN_OR_RETURN(
        y, Combine(node, op, y, Reshaped(node.scope(), factor, dims)));
  }
  return y;
}

}  // namespace spillway::onnx_model
