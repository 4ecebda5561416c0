// A convolution's tensors in cuDNN's terms: its dimensions are N C spatial...
// and, for filters, O I window..., whatever the order in memory.
#ifndef SPILLWAY_OPS_GPU_CONV_CONV_LAYOUT_H_
#define SPILLWAY_OPS_GPU_CONV_CONV_LAYOUT_H_

#include <cudnn.h>

#include <cstdint>
#include <vector>

#include "graph/dtype.h"
#include "ops/common/conv.h"

namespace spillway {

// float32, bfloat16 or float16.
cudnnDataType_t CudnnDataType(DType dtype);

struct ConvDims {
  std::vector<int64_t> x = {};
  std::vector<int64_t> filter = {};
  std::vector<int64_t> y = {};
};
ConvDims DimsOf(const ConvGeometry& conv);

// For a tensor whose channels, dimension 1, are last in memory.
std::vector<int64_t> ChannelsLastStrides(const std::vector<int64_t>& dims);

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_CONV_CONV_LAYOUT_H_
