// The descriptors of a convolution for cuDNN's legacy API.
#ifndef SPILLWAY_OPS_GPU_CONV_CONV_DESCRIPTORS_H_
#define SPILLWAY_OPS_GPU_CONV_CONV_DESCRIPTORS_H_

#include "absl/status/statusor.h"
#include "graph/dtype.h"
#include "ops/common/conv.h"
#include "ops/gpu/library/cudnn.h"

namespace spillway {

// The dimension that cuDNN, which pads both ends equally, should convolve for
// `dim`: `dim` itself, or one with the same output whose padding is part of the
// input.
WindowDim PadIntoInput(const WindowDim& dim);

struct ConvDescriptors {
  CudnnTensor x = {nullptr, nullptr};
  CudnnFilter filter = {nullptr, nullptr};
  CudnnTensor y = {nullptr, nullptr};
  CudnnConvolution conv = {nullptr, nullptr};
};

// Each dimension of `conv` must come from PadIntoInput. All three tensors have
// `dtype`, float32, bfloat16 or float16; sums are float32. Errors:
// UNIMPLEMENTED for sizes that do not fit an int.
absl::StatusOr<ConvDescriptors> MakeConvDescriptors(const CudnnApi& api,
                                                    const ConvGeometry& conv,
                                                    DType dtype,
                                                    cudnnMathType_t math);

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_CONV_CONV_DESCRIPTORS_H_
