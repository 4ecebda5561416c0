#include "ops/gpu/conv/conv_descriptors.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/gpu/conv/conv_layout.h"

namespace spillway {
namespace {

absl::StatusOr<std::vector<int>> ToInts(const std::vector<int64_t>& values) {
  std::vector<int> ints;
  for (const int64_t value : values) {
    if (value > std::numeric_limits<int>::max()) {
      return Unimplemented(fmt::format(
          "cuDNN has no convolution of a dimension or stride of {} elements",
          value));
    }
    ints.push_back(static_cast<int>(value));
  }
  return ints;
}

absl::StatusOr<CudnnTensor> MakeTensor(const CudnnApi& api,
                                       const std::vector<int64_t>& dims,
                                       DType dtype) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int> sizes, ToInts(dims));
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int> strides,
                            ToInts(ChannelsLastStrides(dims)));
  cudnnTensorDescriptor_t desc = nullptr;
  SPILLWAY_RETURN_IF_ERROR(CudnnStatus(api, api.create_tensor(&desc),
                                       "cudnnCreateTensorDescriptor"));
  CudnnTensor tensor(desc, api.destroy_tensor);
  SPILLWAY_RETURN_IF_ERROR(CudnnStatus(
      api,
      api.set_tensor(desc, CudnnDataType(dtype), static_cast<int>(sizes.size()),
                     sizes.data(), strides.data()),
      "cudnnSetTensorNdDescriptor"));
  return tensor;
}

absl::StatusOr<CudnnFilter> MakeFilter(const CudnnApi& api,
                                       const std::vector<int64_t>& dims,
                                       DType dtype) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int> sizes, ToInts(dims));
  cudnnFilterDescriptor_t desc = nullptr;
  SPILLWAY_RETURN_IF_ERROR(CudnnStatus(api, api.create_filter(&desc),
                                       "cudnnCreateFilterDescriptor"));
  CudnnFilter filter(desc, api.destroy_filter);
  SPILLWAY_RETURN_IF_ERROR(
      CudnnStatus(api,
                  api.set_filter(desc, CudnnDataType(dtype), CUDNN_TENSOR_NHWC,
                                 static_cast<int>(sizes.size()), sizes.data()),
                  "cudnnSetFilterNdDescriptor"));
  return filter;
}

absl::StatusOr<CudnnConvolution> MakeConvolution(const CudnnApi& api,
                                                 const ConvGeometry& conv,
                                                 cudnnMathType_t math) {
  const Window& window = conv.window;
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int> pads,
                            ToInts(Each(window, &WindowDim::pad_before)));
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int> strides,
                            ToInts(Each(window, &WindowDim::stride)));
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int> dilations,
                            ToInts(Each(window, &WindowDim::dilation)));
  cudnnConvolutionDescriptor_t desc = nullptr;
  SPILLWAY_RETURN_IF_ERROR(CudnnStatus(api, api.create_convolution(&desc),
                                       "cudnnCreateConvolutionDescriptor"));
  CudnnConvolution owned(desc, api.destroy_convolution);
  SPILLWAY_RETURN_IF_ERROR(CudnnStatus(
      api,
      api.set_convolution(desc, static_cast<int>(window.size()), pads.data(),
                          strides.data(), dilations.data(),
                          CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
      "cudnnSetConvolutionNdDescriptor"));
  SPILLWAY_RETURN_IF_ERROR(
      CudnnStatus(api, api.set_group_count(desc, static_cast<int>(conv.groups)),
                  "cudnnSetConvolutionGroupCount"));
  SPILLWAY_RETURN_IF_ERROR(CudnnStatus(api, api.set_math_type(desc, math),
                                       "cudnnSetConvolutionMathType"));
  return owned;
}

}  // namespace

WindowDim PadIntoInput(const WindowDim& dim) {
  const int64_t padded = dim.input + 2 * dim.pad_before;
  if (padded >= dim.extent() &&
      (padded - dim.extent()) / dim.stride + 1 == dim.output) {
    return dim;
  }
  return {.input = (dim.output - 1) * dim.stride + dim.extent(),
          .output = dim.output,
          .size = dim.size,
          .stride = dim.stride,
          .dilation = dim.dilation};
}

absl::StatusOr<ConvDescriptors> MakeConvDescriptors(const CudnnApi& api,
                                                    const ConvGeometry& conv,
                                                    DType dtype,
                                                    cudnnMathType_t math) {
  const ConvDims dims = DimsOf(conv);
  ConvDescriptors descriptors;
  SPILLWAY_ASSIGN_OR_RETURN(descriptors.x, MakeTensor(api, dims.x, dtype));
  SPILLWAY_ASSIGN_OR_RETURN(descriptors.filter,
                            MakeFilter(api, dims.filter, dtype));
  SPILLWAY_ASSIGN_OR_RETURN(descriptors.y, MakeTensor(api, dims.y, dtype));
  SPILLWAY_ASSIGN_OR_RETURN(descriptors.conv, MakeConvolution(api, conv, math));
  return descriptors;
}

}  // namespace spillway
