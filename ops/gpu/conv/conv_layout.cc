#include "ops/gpu/conv/conv_layout.h"

namespace spillway {
namespace {

std::vector<int64_t> ChannelsFirst(int64_t n, int64_t channels,
                                   std::vector<int64_t> spatial) {
  spatial.insert(spatial.begin(), {n, channels});
  return spatial;
}

}  // namespace

cudnnDataType_t CudnnDataType(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    case DType::kFloat16:
      return CUDNN_DATA_HALF;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

ConvDims DimsOf(const ConvGeometry& conv) {
  const Window& window = conv.window;
  return {
      .x = ChannelsFirst(conv.batch, conv.in_channels,
                         Each(window, &WindowDim::input)),
      .filter = ChannelsFirst(conv.out_channels, conv.in_channels / conv.groups,
                              Each(window, &WindowDim::size)),
      .y = ChannelsFirst(conv.batch, conv.out_channels,
                         Each(window, &WindowDim::output))};
}

std::vector<int64_t> ChannelsLastStrides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  int64_t stride = dims[1];
  for (size_t axis = dims.size() - 1; axis > 1; --axis) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  strides[0] = stride;
  return strides;
}

}  // namespace spillway
