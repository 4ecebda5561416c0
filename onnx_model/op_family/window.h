// Windows of convolutions and pools: attributes of ONNX as those of our ops.
#ifndef SPILLWAY_ONNX_MODEL_OP_FAMILY_WINDOW_H_
#define SPILLWAY_ONNX_MODEL_OP_FAMILY_WINDOW_H_

#include <cstdint>
#include <vector>

#include "graph/attributes.h"
#include "onnx_model/convert/node_conversion.h"

namespace spillway::onnx_model {

// One entry for each spatial dimension.
struct Window {
  std::vector<int64_t> kernel = {};
  std::vector<int64_t> strides = {};
  std::vector<int64_t> dilations = {};
  std::vector<int64_t> before = {};  // padding
  std::vector<int64_t> after = {};
  // Of `after`: cells that only let the last window begin (ceil_mode). They
  // belong to no padding: no mean counts them.
  std::vector<int64_t> overhang = {};

  size_t rank() const { return kernel.size(); }
  bool has_dilations() const;
  bool has_padding() const;
  int64_t output_size(size_t dim, int64_t input) const;
  // [[before, after], ...]
  AttributeValue Paddings() const;
};

// The window of `node` over `sizes`, the spatial dimensions of its input.
// `kernel`: if the attribute kernel_shape is absent; empty: it must be there.
// Errors: INVALID_ARGUMENT for an attribute of the wrong length, not positive,
// a kernel_shape that is not `kernel`, or an auto_pad that does not exist;
// UNIMPLEMENTED for negative padding.
absl::StatusOr<Window> ReadWindow(const NodeConversion& node,
                                  const std::vector<int64_t>& sizes,
                                  const std::vector<int64_t>& kernel);

// The window of one more dimension, outermost, of size 1: one of a row of
// values becomes one of a picture of one row.
Window RaiseWindow(const Window& window);

// Strides, dilations, padding and explicit_paddings, as our convolutions have
// them. "VALID" where there is no padding.
Attributes ConvAttributes(const Window& window);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_OP_FAMILY_WINDOW_H_
