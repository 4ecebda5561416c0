// Resize and Upsample, dimension by dimension: repeated or chosen elements, or
// a product with a matrix of weights.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "onnx_model/op_family/axes.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

// The order of the choices below is that of the texts in ReadRule.
enum class Interpolation : uint8_t { kNearest, kLinear, kCubic, kBilinear };
// Where an element of the result lies in the input.
enum class Coordinates : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kCropAndResize,
};
enum class Nearest : uint8_t { kPreferFloor, kPreferCeil, kFloor, kCeil };

struct ResizeRule {
  Interpolation interpolation = Interpolation::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  Nearest nearest = Nearest::kPreferFloor;
  double cubic = -0.75;
  bool excludes_outside = false;
  bool antialias = false;
  double outside = 0;  // of a crop: the value beyond the input
};

// Before opset 11, coordinates are asymmetric and floored.
absl::StatusOr<ResizeRule> ReadRule(const NodeConversion& node) {
  ResizeRule rule = {.coordinates = Coordinates::kAsymmetric,
                     .nearest = Nearest::kFloor};
  SPILLWAY_ASSIGN_OR_RETURN(
      const size_t mode,
      node.node().Choice("mode", {"nearest", "linear", "cubic", "bilinear"}));
  rule.interpolation = static_cast<Interpolation>(mode);
  if (rule.interpolation == Interpolation::kBilinear) {
    rule.interpolation = Interpolation::kLinear;
  }
  if (node.opset() < 11 || node.node().op() == "Upsample") return rule;
  SPILLWAY_ASSIGN_OR_RETURN(
      const size_t coordinates,
      node.node().Choice(
          "coordinate_transformation_mode",
          {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
           "align_corners", "asymmetric", "tf_crop_and_resize"}));
  rule.coordinates = static_cast<Coordinates>(coordinates);
  SPILLWAY_ASSIGN_OR_RETURN(
      const size_t nearest,
      node.node().Choice(
          "nearest_mode",
          {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  rule.nearest = static_cast<Nearest>(nearest);
  SPILLWAY_ASSIGN_OR_RETURN(rule.cubic,
                            node.node().Real("cubic_coeff_a", -0.75));
  if (std::abs(rule.cubic) > 1e6) {
    return InvalidArgument(fmt::format("cubic_coeff_a is {}", rule.cubic));
  }
  SPILLWAY_ASSIGN_OR_RETURN(rule.excludes_outside,
                            node.node().Bool("exclude_outside", false));
  SPILLWAY_ASSIGN_OR_RETURN(rule.antialias,
                            node.node().Bool("antialias", false));
  SPILLWAY_ASSIGN_OR_RETURN(rule.outside,
                            node.node().Real("extrapolation_value", 0));
  return rule;
}

struct Resized {
  int dim = 0;
  int64_t from = 1;
  int64_t to = 1;
  double scale = 1;
  // Of a crop: its first and last place, as parts of the input.
  double crop_begin = 0;
  double crop_end = 1;
};

absl::StatusOr<std::vector<int>> ResizedDims(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Sizes> stated,
                            node.node().Ints("axes"));
  if (!stated.has_value()) return Identity(node.rank(0));
  return node.Axes(*stated, node.rank(0));
}

absl::StatusOr<std::vector<Resized>> ByScales(NodeConversion& node,
                                              const std::vector<int>& dims,
                                              const Reals& scales) {
  if (scales.size() != dims.size()) {
    return InvalidArgument(
        fmt::format("{} scales for {} dimensions", scales.size(), dims.size()));
  }
  std::vector<Resized> result;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t from = node.dims(0)[static_cast<size_t>(dims[i])];
    const double to = std::floor(static_cast<double>(from) * scales[i]);
    if (!(scales[i] > 0) || !(to >= 1) || !(to <= 1e9)) {
      return InvalidArgument(
          fmt::format("a scale of {} for a dimension of {}", scales[i], from));
    }
    result.push_back({.dim = dims[i],
                      .from = from,
                      .to = static_cast<int64_t>(to),
                      .scale = scales[i]});
  }
  return result;
}

// "stretch" takes each size; the other two keep one ratio for all dimensions.
absl::StatusOr<std::vector<Resized>> BySizes(NodeConversion& node,
                                             const std::vector<int>& dims,
                                             const Sizes& sizes) {
  if (sizes.size() != dims.size()) {
    return InvalidArgument(
        fmt::format("{} sizes for {} dimensions", sizes.size(), dims.size()));
  }
  std::vector<Resized> result;
  double least = INFINITY;
  double most = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t from = node.dims(0)[static_cast<size_t>(dims[i])];
    if (sizes[i] < 1 || sizes[i] > 1'000'000'000) {
      return InvalidArgument(fmt::format("a size of {}", sizes[i]));
    }
    const double scale =
        static_cast<double>(sizes[i]) / static_cast<double>(from);
    least = std::min(least, scale);
    most = std::max(most, scale);
    result.push_back(
        {.dim = dims[i], .from = from, .to = sizes[i], .scale = scale});
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      const size_t policy,
      node.node().Choice("keep_aspect_ratio_policy",
                         {"stretch", "not_larger", "not_smaller"}));
  if (policy == 0) return result;
  for (Resized& resized : result) {
    resized.scale = policy == 1 ? least : most;
    const double to =
        std::floor(resized.scale * static_cast<double>(resized.from) + 0.5);
    resized.to = static_cast<int64_t>(std::clamp(to, 1.0, 1e9));
  }
  return result;
}

absl::StatusOr<Reals> RealsInput(NodeConversion& node, int input) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant constant, node.ConstantInput(input));
  Reals reals;
  for (size_t i = 0; i < constant.size(); ++i) {
    reals.push_back(constant.real(i));
  }
  return reals;
}

absl::StatusOr<std::vector<Resized>> ReadResized(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int> dims, ResizedDims(node));
  if (node.node().op() == "Upsample" && node.opset() < 9) {
    SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Reals> scales,
                              node.node().Reals("scales"));
    return ByScales(node, dims, scales.value_or(Reals()));
  }
  const bool is_old = node.opset() < 11 || node.node().op() == "Upsample";
  const int scales_at = is_old ? 1 : 2;
  if (!is_old && node.has(3)) {
    SPILLWAY_ASSIGN_OR_RETURN(const Sizes sizes, node.IntegersInput(3));
    return BySizes(node, dims, sizes);
  }
  if (!node.has(scales_at)) return InvalidArgument("has no scales, no sizes");
  SPILLWAY_ASSIGN_OR_RETURN(const Reals scales, RealsInput(node, scales_at));
  return ByScales(node, dims, scales);
}

absl::Status ReadCrop(NodeConversion& node, std::vector<Resized>& all) {
  if (!node.has(1)) return InvalidArgument("has no roi");
  SPILLWAY_ASSIGN_OR_RETURN(const Reals roi, RealsInput(node, 1));
  if (roi.size() != 2 * all.size()) {
    return InvalidArgument(fmt::format("roi has {} entries for {} dimensions",
                                       roi.size(), all.size()));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].crop_begin = roi[i];
    all[i].crop_end = roi[all.size() + i];
  }
  return absl::OkStatus();
}

// Where element `i` of the result lies among those of the input.
double PlaceOf(const Resized& resized, Coordinates coordinates, int64_t i) {
  const auto at = static_cast<double>(i);
  const auto from = static_cast<double>(resized.from);
  const double exact_to = resized.scale * from;  // not rounded
  const double half_pixel = (at + 0.5) / resized.scale - 0.5;
  switch (coordinates) {
    case Coordinates::kHalfPixel:
      return half_pixel;
    case Coordinates::kHalfPixelSymmetric:
      return from / 2 * (1 - static_cast<double>(resized.to) / exact_to) +
             half_pixel;
    case Coordinates::kPytorchHalfPixel:
      return resized.to > 1 ? half_pixel : 0;
    case Coordinates::kAlignCorners:
      return exact_to == 1 ? 0 : at * (from - 1) / (exact_to - 1);
    case Coordinates::kAsymmetric:
      return at / resized.scale;
    case Coordinates::kCropAndResize: {
      const double width = resized.crop_end - resized.crop_begin;
      const double in_crop =
          exact_to == 1 ? width / 2 : at * width / (exact_to - 1);
      return (resized.crop_begin + in_crop) * (from - 1);
    }
  }
  return 0;
}

// For each element of the result, whether it lies beyond the input.
std::vector<bool> Outside(const Resized& resized, const ResizeRule& rule) {
  std::vector<bool> outside(static_cast<size_t>(resized.to), false);
  if (rule.coordinates != Coordinates::kCropAndResize) return outside;
  for (int64_t i = 0; i < resized.to; ++i) {
    const double place = PlaceOf(resized, rule.coordinates, i);
    outside[static_cast<size_t>(i)] =
        place < 0 || place > static_cast<double>(resized.from - 1);
  }
  return outside;
}

// A crop may lie anywhere, or nowhere (NaN).
double Bounded(double place) {
  return place > -1e9 ? std::min(place, 1e9) : -1e9;
}

int64_t NearestTo(double place, Nearest nearest) {
  switch (nearest) {
    case Nearest::kPreferFloor:
      return static_cast<int64_t>(std::ceil(place - 0.5));
    case Nearest::kPreferCeil:
      return static_cast<int64_t>(std::floor(place + 0.5));
    case Nearest::kFloor:
      return static_cast<int64_t>(std::floor(place));
    case Nearest::kCeil:
      return static_cast<int64_t>(std::ceil(place));
  }
  return 0;
}

Sizes NearestIndices(const Resized& resized, const ResizeRule& rule) {
  Sizes indices;
  for (int64_t i = 0; i < resized.to; ++i) {
    const int64_t index =
        NearestTo(Bounded(PlaceOf(resized, rule.coordinates, i)), rule.nearest);
    indices.push_back(std::clamp<int64_t>(index, 0, resized.from - 1));
  }
  return indices;
}

// The weight of an element at distance t, in elements.
double Kernel(const ResizeRule& rule, double t) {
  t = std::abs(t);
  if (rule.interpolation == Interpolation::kLinear) return std::max(0.0, 1 - t);
  const double a = rule.cubic;
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  if (t < 2) return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  return 0;
}

// Row i: what part each element of the input has in element i.
Reals WeightsOf(const Resized& resized, const ResizeRule& rule) {
  const double narrow = rule.antialias ? std::min(resized.scale, 1.0) : 1.0;
  const double reach =
      (rule.interpolation == Interpolation::kCubic ? 2 : 1) / narrow;
  Reals weights(static_cast<size_t>(resized.to * resized.from), 0);
  for (int64_t i = 0; i < resized.to; ++i) {
    const double place = Bounded(PlaceOf(resized, rule.coordinates, i));
    double* row = &weights[static_cast<size_t>(i * resized.from)];
    double sum = 0;
    const auto first = static_cast<int64_t>(std::ceil(place - reach));
    const auto last = static_cast<int64_t>(std::floor(place + reach));
    for (int64_t k = first; k <= last; ++k) {
      const bool is_outside = k < 0 || k >= resized.from;
      if (is_outside && rule.excludes_outside) continue;
      const double weight =
          Kernel(rule, narrow * (static_cast<double>(k) - place));
      row[std::clamp<int64_t>(k, 0, resized.from - 1)] += weight;
      sum += weight;
    }
    if (sum == 0) continue;
    for (int64_t k = 0; k < resized.from; ++k) row[k] /= sum;
  }
  return weights;
}

Tensor ResizedByNearest(NodeConversion& node, Tensor x, int axis,
                        const Sizes& indices) {
  const int64_t n = x.shape().dim(axis);
  const auto count = static_cast<int64_t>(indices.size());
  if (count % n == 0) {
    bool repeats = true;
    for (int64_t i = 0; i < count; ++i) {
      repeats &= indices[static_cast<size_t>(i)] == i / (count / n);
    }
    if (repeats) return RepeatElements(node, x, axis, count / n);
  }
  return GatherRows(node, x, IndexList(node, indices, Shape({count})), axis);
}

// The rule's value where the result lies beyond the input.
Tensor WithOutside(NodeConversion& node, Tensor x, int axis,
                   const std::vector<bool>& outside, double value) {
  if (std::ranges::find(outside, true) == outside.end() || !x.is_valid()) {
    return x;
  }
  AttributeValue::List values(outside.size());
  for (size_t i = 0; i < outside.size(); ++i) {
    values[i] = int64_t{outside[i] ? 1 : 0};
  }
  Sizes dims(static_cast<size_t>(x.shape().rank() - axis), 1);
  dims[0] = static_cast<int64_t>(outside.size());
  const Tensor is_outside = node.Helper("Const", {},
                                        {{"dtype", DType::kBool},
                                         {"shape", Shape(std::move(dims))},
                                         {"values", std::move(values)}});
  return node.Helper("Select", {is_outside, node.Number(value, x), x});
}

// Sizes of which lists and matrices can be made, and a scale that fits them.
absl::Status CheckResized(const Resized& resized) {
  if (resized.to <= kMostConstantElements / resized.from &&
      resized.scale > 1.0 / static_cast<double>(kMostConstantElements)) {
    return absl::OkStatus();
  }
  return Unimplemented(fmt::format("from {} to {} elements by {}", resized.from,
                                   resized.to, resized.scale));
}

absl::Status ConvertResize(NodeConversion& node) {
  if (!IsFloating(node.type(0))) {
    return Unimplemented(
        fmt::format("an input of {}", ElementTypeName(node.type(0))));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const ResizeRule rule, ReadRule(node));
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<Resized> all, ReadResized(node));
  if (rule.coordinates == Coordinates::kCropAndResize) {
    SPILLWAY_RETURN_IF_ERROR(ReadCrop(node, all));
  }
  std::erase_if(all, [](const Resized& r) {
    return r.from == r.to && r.scale == 1 && r.crop_begin == 0 &&
           r.crop_end == 1;
  });
  if (all.empty()) {
    node.SetToInput(0, 0);
    return absl::OkStatus();
  }
  std::vector<int> dims;
  for (const Resized& resized : all) {
    dims.push_back(resized.dim);
    SPILLWAY_RETURN_IF_ERROR(CheckResized(resized));
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, WithAxes(node, 0, dims));
  for (const Resized& resized : all) {
    if (!x.tensor.is_valid()) return absl::OkStatus();
    const int axis = *x.OnlyAxis(resized.dim);
    x.tensor =
        rule.interpolation == Interpolation::kNearest
            ? ResizedByNearest(node, x.tensor, axis,
                               NearestIndices(resized, rule))
            : TimesMatrix(node, x.tensor, axis, WeightsOf(resized, rule));
    x.tensor =
        WithOutside(node, x.tensor, axis, Outside(resized, rule), rule.outside);
    SetDim(x, resized.dim, resized.to);
  }
  node.Set(0, x);
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 2> kResizeOps = {{
    {"Resize", 1, 4, ConvertResize},
    {"Upsample", 1, 2, ConvertResize},
}};

}  // namespace

std::span<const OpEntry> ResizeOps() { return kResizeOps; }

}  // namespace spillway::onnx_model
