#include "ops/common/conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

// The dimensions between the first and the last.
std::span<const int64_t> Spatial(const Shape& shape) {
  return std::span(shape.dims()).subspan(1, shape.dims().size() - 2);
}

absl::Status CheckChannels(const Shape& x, const Shape& filter,
                           int64_t groups) {
  const int64_t in = x.dim(-1);
  const int64_t out = filter.dim(0);
  if (groups < 1 || in % groups != 0 || out % groups != 0) {
    return InvalidArgument(fmt::format(
        "'groups' must divide the {} channels of x and the {} filters; it is "
        "{}",
        in, out, groups));
  }
  if (filter.dim(-1) != in / groups) {
    return InvalidArgument(fmt::format(
        "the last dimension of filter {} must be {}, the channels of x {} "
        "over {}",
        filter.ToString(), in / groups, x.ToString(),
        Counted(groups, "group")));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> ConvAttributeNames(std::vector<std::string> first) {
  first.insert(first.end(), kWindowAttributes.begin(), kWindowAttributes.end());
  first.emplace_back("groups");
  return first;
}

absl::Status ExpectConvRanks(int spatial, const Shape& x, const Shape& filter) {
  if (x.rank() == spatial + 2 && filter.rank() == spatial + 2) {
    return absl::OkStatus();
  }
  return InvalidArgument(fmt::format(
      "x must be [N, {}H, W, I] and filter [O, {}KH, KW, I / groups]; they are "
      "{} and {}",
      spatial == 3 ? "D, " : "", spatial == 3 ? "KD, " : "", x.ToString(),
      filter.ToString()));
}

absl::Status ExpectFilterDType(std::string_view name, const TensorType& filter,
                               DType dtype) {
  if (filter.dtype == dtype || filter.dtype == DType::kFloat32) {
    return absl::OkStatus();
  }
  const std::string_view other = dtype == DType::kFloat32 ? "" : " or float32";
  return InvalidArgument(fmt::format("{} must be {}{}; it is {}", name,
                                     DTypeName(dtype), other,
                                     filter.ToString()));
}

absl::StatusOr<ConvGeometry> ReadConv(const Attributes& attributes,
                                      const Shape& x, const Shape& filter) {
  SPILLWAY_RETURN_IF_ERROR(Annotate(CheckShape(x), "x"));
  SPILLWAY_RETURN_IF_ERROR(Annotate(CheckShape(filter), "filter"));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t groups,
                            attributes.GetInt("groups", 1));
  SPILLWAY_RETURN_IF_ERROR(CheckChannels(x, filter, groups));
  SPILLWAY_ASSIGN_OR_RETURN(
      Window window, ReadWindow(attributes, Spatial(x), Spatial(filter)));
  return ConvGeometry{.batch = x.dim(0),
                      .in_channels = x.dim(-1),
                      .out_channels = filter.dim(0),
                      .groups = groups,
                      .window = std::move(window)};
}

Shape ConvOutput(const ConvGeometry& conv) {
  std::vector<int64_t> dims = Each(conv.window, &WindowDim::output);
  dims.insert(dims.begin(), conv.batch);
  dims.push_back(conv.out_channels);
  return Shape(std::move(dims));
}

bool IsPointwise(const ConvGeometry& conv) {
  return conv.groups == 1 &&
         std::ranges::all_of(conv.window, [](const WindowDim& dim) {
           return dim.size == 1 && dim.stride == 1 && dim.output == dim.input;
         });
}

ConvGeometry BackwardConv(const ConvGeometry& conv) {
  ConvGeometry backward = conv;
  std::swap(backward.in_channels, backward.out_channels);
  for (WindowDim& dim : backward.window) {
    std::swap(dim.input, dim.output);
    dim.pad_before = dim.extent() - 1 - dim.pad_before;
    dim.pad_after = dim.extent() - 1 - dim.pad_after;
  }
  return backward;
}

double ConvFlops(const Shape& filter, const Shape& y) {
  const int64_t products = filter.num_elements() / filter.dim(0);
  return 2.0 * static_cast<double>(y.num_elements()) *
         static_cast<double>(products);
}

Arithmetic ConvArithmetic(const Attributes& attributes, const Shape& x,
                          const Shape& filter) {
  const absl::StatusOr<ConvGeometry> conv = ReadConv(attributes, x, filter);
  if (!conv.ok()) return Arithmetic::kGeneral;
  const auto is_pointwise = [](const WindowDim& dim) { return dim.size == 1; };
  const auto suits_winograd = [](const WindowDim& dim) {
    return (dim.size == 3 || dim.size == 5) && dim.stride == 1 &&
           dim.dilation == 1;
  };
  if (conv->groups > 1) return Arithmetic::kOtherConvolution;
  if (std::ranges::all_of(conv->window, is_pointwise)) {
    return Arithmetic::kPointwiseConvolution;
  }
  return conv->window.size() == 2 &&
                 std::ranges::all_of(conv->window, suits_winograd)
             ? Arithmetic::kWinogradConvolution
             : Arithmetic::kOtherConvolution;
}

}  // namespace spillway
