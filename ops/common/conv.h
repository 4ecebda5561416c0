// The arithmetic shared by convolutions, their gradients and transposed
// convolutions, in two or three spatial dimensions:
//
//   x       [N, spatial..., I]
//   filter  [O, window..., I / groups]
//   y       [N, output spatial..., O]
//
// Channels are split into `groups` (default 1); each group sees only its own
// channels. Spatial attributes as in ops/common/window.h.
//
// Activations and their gradients have one floating dtype. A filter has the
// same dtype, or float32: parameters stay float32 if activations have 16 bits.
#ifndef SPILLWAY_OPS_COMMON_CONV_H_
#define SPILLWAY_OPS_COMMON_CONV_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/op_def.h"
#include "ops/common/window.h"

namespace spillway {

struct ConvGeometry {
  int64_t batch = 1;
  int64_t in_channels = 1;
  int64_t out_channels = 1;
  int64_t groups = 1;
  Window window = {};  // one entry for each spatial dimension
};

// `first`, then the attributes that ReadConv reads, for OpDef::attributes.
std::vector<std::string> ConvAttributeNames(std::vector<std::string> first);

// Every function below fails with INVALID_ARGUMENT.

// x and filter have `spatial` spatial dimensions: 2 or 3.
absl::Status ExpectConvRanks(int spatial, const Shape& x, const Shape& filter);

// Checks that the filter's dtype is allowed for activations of `dtype`.
absl::Status ExpectFilterDType(std::string_view name, const TensorType& filter,
                               DType dtype);

// Ranks must be as ExpectConvRanks requires.
absl::StatusOr<ConvGeometry> ReadConv(const Attributes& attributes,
                                      const Shape& x, const Shape& filter);

Shape ConvOutput(const ConvGeometry& conv);

// Whether y is, in every pixel, a matrix product of that pixel of x: a window
// of one element with stride 1, no padding, no groups.
bool IsPointwise(const ConvGeometry& conv);

// The convolution of dy, by filters that are turned by 180 degrees and whose
// input and output channels are exchanged, that gives dx. Strides must be 1.
// Padding may become negative.
ConvGeometry BackwardConv(const ConvGeometry& conv);

// Two times the multiply-adds of y, including those with padding. The same for
// dx and dfilter.
double ConvFlops(const Shape& filter, const Shape& y);

// The kind of a convolution of x, and of its gradients. Winograd's algorithm
// needs two dimensions, no dilation and no groups, as in cuDNN. kGeneral: the
// shapes do not fit.
Arithmetic ConvArithmetic(const Attributes& attributes, const Shape& x,
                          const Shape& filter);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_CONV_H_
