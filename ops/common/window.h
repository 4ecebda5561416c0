// Windows that slide over the spatial dimensions: the arithmetic shared by
// convolutions and pools.
//
// Along one dimension, with extent = (size - 1) * dilation + 1:
//   VALID     output = (input - extent) / stride + 1, nothing padded
//   SAME      output = input / stride rounded up; the least padding for this
//             output, half before and half after, an odd element after
//   EXPLICIT  output = (before + input + after - extent) / stride + 1
// Source: TensorFlow's tf.nn.convolution, "padding".
#ifndef SPILLWAY_OPS_COMMON_WINDOW_H_
#define SPILLWAY_OPS_COMMON_WINDOW_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/interval.h"
#include "graph/attributes.h"

namespace spillway {

// One spatial dimension: its elements, and the window over them.
struct WindowDim {
  int64_t input = 1;
  int64_t output = 1;
  int64_t size = 1;  // elements of the window
  int64_t stride = 1;
  int64_t dilation = 1;  // distance between elements of the window
  int64_t pad_before = 0;
  int64_t pad_after = 0;

  int64_t extent() const { return (size - 1) * dilation + 1; }
  // Where window `o` begins; negative in the padding.
  int64_t begin(int64_t o) const { return o * stride - pad_before; }
  // Elements of the input, without padding, that the undilated window `o`
  // covers.
  Interval covered(int64_t o) const {
    return {std::max<int64_t>(begin(o), 0), std::min(begin(o) + size, input)};
  }
  // Undilated windows that cover element `i` of the input.
  Interval covering(int64_t i) const {
    const int64_t first = i + pad_before - size + 1;
    return {first > 0 ? (first + stride - 1) / stride : 0,
            std::min((i + pad_before) / stride + 1, output)};
  }
};

// Outermost spatial dimension first.
using Window = std::vector<WindowDim>;

// One member of each dimension: Each(window, &WindowDim::stride).
inline std::vector<int64_t> Each(const Window& window,
                                 int64_t WindowDim::*member) {
  std::vector<int64_t> values;
  for (const WindowDim& dim : window) values.push_back(dim.*member);
  return values;
}

// The attributes that ReadWindow reads, for OpDef::attributes.
inline const std::vector<std::string> kWindowAttributes = {
    "strides", "padding", "explicit_paddings", "dilations"};

// Reads `strides` and `dilations` (ones if absent), `padding` and, with
// EXPLICIT, `explicit_paddings` [[before, after], ...]. Errors:
// INVALID_ARGUMENT for numbers out of range and a window that does not fit.
absl::StatusOr<Window> ReadWindow(const Attributes& attributes,
                                  std::span<const int64_t> inputs,
                                  std::span<const int64_t> sizes);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_WINDOW_H_
