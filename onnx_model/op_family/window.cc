#include "onnx_model/op_family/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/status_macros.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

constexpr int64_t kMaxSetting = int64_t{1} << 30;

// An attribute with one positive entry for each dimension; ones if absent.
absl::StatusOr<Sizes> ReadPositive(const NodeView& node, const char* name,
                                   size_t rank) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Sizes> given, node.Ints(name));
  if (!given.has_value()) return Sizes(rank, 1);
  if (given->size() != rank) {
    return InvalidArgument(fmt::format("{} has {} entries for {} dimensions",
                                       name, given->size(), rank));
  }
  for (const int64_t entry : *given) {
    if (entry < 1 || entry > kMaxSetting) {
      return InvalidArgument(fmt::format("{} has the entry {}", name, entry));
    }
  }
  return *given;
}

absl::StatusOr<Sizes> ReadKernel(const NodeView& node, size_t rank,
                                 const Sizes& kernel) {
  if (!node.has("kernel_shape")) {
    if (!kernel.empty()) return kernel;
    return InvalidArgument("has no kernel_shape");
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Sizes given,
                            ReadPositive(node, "kernel_shape", rank));
  if (!kernel.empty() && given != kernel) {
    return InvalidArgument(fmt::format("kernel_shape is {}, the weight's is {}",
                                       Shape(given).ToString(),
                                       Shape(kernel).ToString()));
  }
  return given;
}

int64_t Effective(const Window& window, size_t dim) {
  return (window.kernel[dim] - 1) * window.dilations[dim] + 1;
}

absl::Status ReadPads(const NodeView& node, Window& window) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Sizes> pads, node.Ints("pads"));
  if (!pads.has_value()) return absl::OkStatus();
  const size_t rank = window.rank();
  if (pads->size() != 2 * rank) {
    return InvalidArgument(fmt::format("pads has {} entries for {} dimensions",
                                       pads->size(), rank));
  }
  for (size_t i = 0; i < rank; ++i) {
    window.before[i] = (*pads)[i];
    window.after[i] = (*pads)[rank + i];
    const auto [least, most] = std::minmax(window.before[i], window.after[i]);
    if (least < 0) return Unimplemented("pads that are negative");
    if (most > kMaxSetting) {
      return InvalidArgument(fmt::format("pads has the entry {}", most));
    }
  }
  return absl::OkStatus();
}

// TensorFlow's "SAME"; the odd cell is at the end unless `lower`.
void PadSame(const Sizes& sizes, bool lower, Window& window) {
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t stride = window.strides[i];
    const int64_t outputs = (sizes[i] + stride - 1) / stride;
    const int64_t total = std::max<int64_t>(
        0, (outputs - 1) * stride + Effective(window, i) - sizes[i]);
    const int64_t less = total / 2;
    window.before[i] = lower ? total - less : less;
    window.after[i] = total - window.before[i];
  }
}

// ceil_mode: a last window that begins inside the input or the padding before
// it, and ends outside.
void AddOverhang(const Sizes& sizes, Window& window) {
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t stride = window.strides[i];
    const int64_t room =
        sizes[i] + window.before[i] + window.after[i] - Effective(window, i);
    if (room < 0) continue;  // the op reports it
    int64_t outputs = (room + stride - 1) / stride + 1;
    if ((outputs - 1) * stride >= sizes[i] + window.before[i]) --outputs;
    window.overhang[i] = std::max<int64_t>(0, (outputs - 1) * stride - room);
    window.after[i] += window.overhang[i];
  }
}

}  // namespace

bool Window::has_dilations() const {
  return std::ranges::any_of(dilations, [](int64_t d) { return d != 1; });
}

bool Window::has_padding() const {
  const auto is_some = [](int64_t p) { return p != 0; };
  return std::ranges::any_of(before, is_some) ||
         std::ranges::any_of(after, is_some);
}

int64_t Window::output_size(size_t dim, int64_t input) const {
  return (input + before[dim] + after[dim] - Effective(*this, dim)) /
             strides[dim] +
         1;
}

AttributeValue Window::Paddings() const {
  AttributeValue::List pairs(rank());
  for (size_t i = 0; i < rank(); ++i) {
    pairs[i] = Sizes{before[i], after[i]};
  }
  return pairs;
}

absl::StatusOr<Window> ReadWindow(const NodeConversion& conversion,
                                  const Sizes& sizes, const Sizes& kernel) {
  const NodeView& node = conversion.node();
  const size_t rank = sizes.size();
  Window window;
  SPILLWAY_ASSIGN_OR_RETURN(window.kernel, ReadKernel(node, rank, kernel));
  SPILLWAY_ASSIGN_OR_RETURN(window.strides,
                            ReadPositive(node, "strides", rank));
  SPILLWAY_ASSIGN_OR_RETURN(window.dilations,
                            ReadPositive(node, "dilations", rank));
  window.before = window.after = window.overhang = Sizes(rank, 0);
  SPILLWAY_ASSIGN_OR_RETURN(const std::string auto_pad,
                            node.Text("auto_pad", "NOTSET"));
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    PadSame(sizes, auto_pad == "SAME_LOWER", window);
  } else if (auto_pad == "NOTSET") {
    SPILLWAY_RETURN_IF_ERROR(ReadPads(node, window));
  } else if (auto_pad != "VALID") {
    return InvalidArgument(fmt::format("auto_pad is '{}'", auto_pad));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const bool ceils, node.Bool("ceil_mode", false));
  if (ceils) AddOverhang(sizes, window);
  return window;
}

Window RaiseWindow(const Window& window) {
  Window raised = window;
  for (Sizes* ones : {&raised.kernel, &raised.strides, &raised.dilations}) {
    ones->insert(ones->begin(), 1);
  }
  for (Sizes* zeros : {&raised.before, &raised.after, &raised.overhang}) {
    zeros->insert(zeros->begin(), 0);
  }
  return raised;
}

Attributes ConvAttributes(const Window& window) {
  Attributes attributes = {{"strides", window.strides}, {"padding", "VALID"}};
  if (window.has_dilations()) attributes.Set("dilations", window.dilations);
  if (window.has_padding()) {
    attributes.Set("padding", "EXPLICIT");
    attributes.Set("explicit_paddings", window.Paddings());
  }
  return attributes;
}

}  // namespace spillway::onnx_model
