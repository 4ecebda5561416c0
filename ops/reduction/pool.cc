#include "ops/reduction/pool.h"

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"
#include "ops/common/pool.h"

namespace spillway::ops {
namespace {

std::vector<std::string> PoolAttributesAnd(
    std::initializer_list<const char*> more) {
  std::vector<std::string> names = kPoolAttributes;
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

absl::StatusOr<bool> HasPlaces(const Attributes& attributes) {
  return attributes.GetBool("places", false);
}

// Of the places in x's windows, which `y` is the maxima of.
absl::StatusOr<TensorType> PlacesType(const InferContext& node,
                                      const Shape& y) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> ksize,
                            node.attributes.GetInts("ksize"));
  const int64_t elements = Shape(ksize).num_elements();
  if (elements > 256) {
    return InvalidArgument(fmt::format(
        "'places' allows windows of at most 256 elements; these have {}",
        elements));
  }
  return TensorType{.dtype = DType::kUInt8, .shape = y};
}

absl::StatusOr<std::vector<TensorType>> InferMax(int spatial,
                                                 const InferContext& node) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const TensorType y, PoolOutput(spatial, node.attributes, node.inputs[0]));
  SPILLWAY_ASSIGN_OR_RETURN(const bool has_places, HasPlaces(node.attributes));
  if (!has_places) return std::vector{y};
  SPILLWAY_ASSIGN_OR_RETURN(const TensorType places, PlacesType(node, y.shape));
  return std::vector{y, places};
}

// The x of a gradient that does not read it.
absl::StatusOr<TensorType> StatedX(const InferContext& node,
                                   const TensorType& dy) {
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("dy", dy));
  SPILLWAY_ASSIGN_OR_RETURN(const Shape shape,
                            node.attributes.GetShape("input_shape"));
  SPILLWAY_RETURN_IF_ERROR(Annotate(CheckShape(shape), "'input_shape'"));
  return TensorType{.dtype = dy.dtype, .shape = shape};
}

absl::StatusOr<std::vector<TensorType>> InferMaxGrad(int spatial,
                                                     const InferContext& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const bool has_places, HasPlaces(node.attributes));
  TensorType x = node.inputs[0];
  if (has_places) {
    SPILLWAY_ASSIGN_OR_RETURN(x, StatedX(node, node.inputs[1]));
  } else if (node.attributes.contains("input_shape")) {
    return InvalidArgument("'input_shape' is only for 'places'");
  }
  SPILLWAY_ASSIGN_OR_RETURN(const TensorType y,
                            PoolOutput(spatial, node.attributes, x));
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("dy", node.inputs[1], y, "the pool's output"));
  if (has_places) {
    SPILLWAY_ASSIGN_OR_RETURN(const TensorType places,
                              PlacesType(node, y.shape));
    SPILLWAY_RETURN_IF_ERROR(
        ExpectType("places", node.inputs[0], places, "a byte for each of dy"));
  }
  return std::vector{x};
}

absl::StatusOr<std::vector<Tensor>> MaxGradient(int spatial,
                                                GradientContext& grad) {
  Attributes attributes = grad.attributes();
  SPILLWAY_ASSIGN_OR_RETURN(const bool has_places, HasPlaces(attributes));
  if (has_places) attributes.Set("input_shape", grad.x(0).shape());
  return std::vector{grad.Add("MaxPool" + PoolSuffix(spatial) + "Grad",
                              {has_places ? grad.y(1) : grad.x(0), grad.dy(0)},
                              std::move(attributes))};
}

// A window may overwrite its part of x if no other window reads that part.
bool WindowsAreDisjoint(const OpContext& node) {
  if (HasPlaces(node.attributes).value_or(true)) return false;  // x is not read
  const auto window = ReadPoolWindow(node.attributes, node.inputs[0].shape);
  if (!window.ok()) return false;
  for (const WindowDim& dim : *window) {
    if (dim.stride < dim.size) return false;
  }
  return true;
}

Op MaxForward(int spatial) {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.outputs[0].shape);
  };
  return {.def = {.name = "MaxPool" + PoolSuffix(spatial),
                  .inputs = {"x"},
                  .outputs = {"y", "places"},
                  .attributes = PoolAttributesAnd({"places"}),
                  .infer = std::bind_front(InferMax, spatial),
                  .gradient = std::bind_front(MaxGradient, spatial),
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, MaxPoolCpu}}};
}

Op MaxBackward(int spatial) {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.inputs[1].shape);
  };
  return {.def = {.name = "MaxPool" + PoolSuffix(spatial) + "Grad",
                  .inputs = {"x_or_places", "dy"},
                  .outputs = {"dx"},
                  .attributes = PoolAttributesAnd({"places", "input_shape"}),
                  .infer = std::bind_front(InferMaxGrad, spatial),
                  .cost = cost,
                  .in_place = {{.input = 0, .output = 0}},
                  .in_place_legal = WindowsAreDisjoint},
          .kernels = {{DeviceKind::kCpu, MaxPoolGradCpu}}};
}

}  // namespace

Op MaxPool() { return MaxForward(2); }
Op MaxPool3D() { return MaxForward(3); }
Op MaxPool3DGrad() { return MaxBackward(3); }
Op MaxPoolGrad() { return MaxBackward(2); }

namespace {

absl::StatusOr<TensorType> AvgOutput(int spatial, const Attributes& attributes,
                                     const TensorType& x) {
  SPILLWAY_RETURN_IF_ERROR(
      attributes.GetBool("count_include_pad", false).status());
  return PoolOutput(spatial, attributes, x);
}

absl::StatusOr<std::vector<TensorType>> InferAvg(int spatial,
                                                 const InferContext& node) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const TensorType y, AvgOutput(spatial, node.attributes, node.inputs[0]));
  return std::vector{y};
}

absl::StatusOr<std::vector<TensorType>> InferAvgGrad(int spatial,
                                                     const InferContext& node) {
  const TensorType& dy = node.inputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(const TensorType x, StatedX(node, dy));
  SPILLWAY_ASSIGN_OR_RETURN(const TensorType y,
                            AvgOutput(spatial, node.attributes, x));
  SPILLWAY_RETURN_IF_ERROR(ExpectType("dy", dy, y, "the pool's output"));
  return std::vector{x};
}

absl::StatusOr<std::vector<Tensor>> AvgGradient(int spatial,
                                                GradientContext& grad) {
  Attributes attributes = grad.attributes();
  attributes.Set("input_shape", grad.x(0).shape());
  return std::vector{grad.Add("AvgPool" + PoolSuffix(spatial) + "Grad",
                              {grad.dy(0)}, std::move(attributes))};
}

Op AvgForward(int spatial) {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.outputs[0].shape);
  };
  return {.def = {.name = "AvgPool" + PoolSuffix(spatial),
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = PoolAttributesAnd({"count_include_pad"}),
                  .infer = std::bind_front(InferAvg, spatial),
                  .gradient = std::bind_front(AvgGradient, spatial),
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, AvgPoolCpu}}};
}

Op AvgBackward(int spatial) {
  const auto cost = [](const OpContext& node) {
    return PoolCost(node, node.inputs[0].shape);
  };
  return {.def = {.name = "AvgPool" + PoolSuffix(spatial) + "Grad",
                  .inputs = {"dy"},
                  .outputs = {"dx"},
                  .attributes =
                      PoolAttributesAnd({"count_include_pad", "input_shape"}),
                  .infer = std::bind_front(InferAvgGrad, spatial),
                  .cost = cost},
          .kernels = {{DeviceKind::kCpu, AvgPoolGradCpu}}};
}

}  // namespace

Op AvgPool() { return AvgForward(2); }
Op AvgPool3D() { return AvgForward(3); }
Op AvgPool3DGrad() { return AvgBackward(3); }
Op AvgPoolGrad() { return AvgBackward(2); }

}  // namespace spillway::ops
