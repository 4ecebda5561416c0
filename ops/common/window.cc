#include "ops/common/window.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "base/status_macros.h"

namespace spillway {
namespace {

// Limits every stride, size, dilation and padding, so that their products with
// the sizes of tensors fit into int64_t.
constexpr int64_t kMost = int64_t{1} << 20;

absl::Status CheckEach(std::string_view name, std::span<const int64_t> values,
                       size_t count, int64_t least) {
  if (values.size() != count) {
    return InvalidArgument(fmt::format(
        "'{}' must have {} entries, one for each spatial dimension; it is [{}]",
        name, count, fmt::join(values, ", ")));
  }
  for (const int64_t value : values) {
    if (value >= least && value <= kMost) continue;
    return InvalidArgument(
        fmt::format("'{}' must be between {} and {}; it has {}", name, least,
                    kMost, value));
  }
  return absl::OkStatus();
}

absl::Status PadSame(WindowDim& dim) {
  dim.output = (dim.input + dim.stride - 1) / dim.stride;
  const int64_t reach = (dim.output - 1) * dim.stride + dim.extent();
  const int64_t padding = std::max<int64_t>(reach - dim.input, 0);
  dim.pad_before = padding / 2;
  dim.pad_after = padding - dim.pad_before;
  return absl::OkStatus();
}

// Computes the output for the padding of `dim`.
absl::Status PadAsStated(WindowDim& dim) {
  const int64_t padded = dim.pad_before + dim.input + dim.pad_after;
  if (padded < dim.extent()) {
    return InvalidArgument(fmt::format(
        "a window of {} elements does not fit into a dimension of {} ({} with "
        "padding)",
        dim.extent(), dim.input, padded));
  }
  dim.output = (padded - dim.extent()) / dim.stride + 1;
  return absl::OkStatus();
}

absl::Status ReadExplicitPaddings(const Attributes& attributes,
                                  Window& window) {
  SPILLWAY_ASSIGN_OR_RETURN(const auto paddings,
                            attributes.GetIntLists("explicit_paddings"));
  if (paddings.size() != window.size()) {
    return InvalidArgument(fmt::format(
        "'explicit_paddings' must have {} pairs, one for each spatial "
        "dimension; it has {}",
        window.size(), paddings.size()));
  }
  for (size_t i = 0; i < window.size(); ++i) {
    SPILLWAY_RETURN_IF_ERROR(CheckEach("explicit_paddings", paddings[i], 2, 0));
    window[i].pad_before = paddings[i][0];
    window[i].pad_after = paddings[i][1];
  }
  return absl::OkStatus();
}

absl::Status ReadPadding(const Attributes& attributes, Window& window) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string padding,
                            attributes.GetString("padding"));
  const bool is_explicit = padding == "EXPLICIT";
  if (!is_explicit && padding != "SAME" && padding != "VALID") {
    return InvalidArgument(fmt::format(
        "'padding' must be SAME, VALID or EXPLICIT; it is '{}'", padding));
  }
  if (is_explicit) {
    SPILLWAY_RETURN_IF_ERROR(ReadExplicitPaddings(attributes, window));
  } else if (attributes.contains("explicit_paddings")) {
    return InvalidArgument(fmt::format(
        "'explicit_paddings' needs padding EXPLICIT; it is {}", padding));
  }
  for (WindowDim& dim : window) {
    SPILLWAY_RETURN_IF_ERROR(padding == "SAME" ? PadSame(dim)
                                               : PadAsStated(dim));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Window> ReadWindow(const Attributes& attributes,
                                  std::span<const int64_t> inputs,
                                  std::span<const int64_t> sizes) {
  const size_t rank = inputs.size();
  const std::vector<int64_t> ones(rank, 1);
  SPILLWAY_ASSIGN_OR_RETURN(const auto strides,
                            attributes.GetInts("strides", ones));
  SPILLWAY_ASSIGN_OR_RETURN(const auto dilations,
                            attributes.GetInts("dilations", ones));
  SPILLWAY_RETURN_IF_ERROR(CheckEach("window", sizes, rank, 1));
  SPILLWAY_RETURN_IF_ERROR(CheckEach("strides", strides, rank, 1));
  SPILLWAY_RETURN_IF_ERROR(CheckEach("dilations", dilations, rank, 1));
  Window window(rank);
  for (size_t i = 0; i < rank; ++i) {
    window[i] = {.input = inputs[i],
                 .size = sizes[i],
                 .stride = strides[i],
                 .dilation = dilations[i]};
  }
  SPILLWAY_RETURN_IF_ERROR(ReadPadding(attributes, window));
  return window;
}

}  // namespace spillway
