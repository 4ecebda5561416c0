#include "ops/gpu/conv/conv_graph.h"

#include <span>
#include <utility>

#include "base/status_macros.h"
#include "ops/gpu/conv/conv_layout.h"

namespace spillway {
namespace {

// Less than the alignment of the buffers, which is 256: more gains nothing.
constexpr int64_t kAlignmentBytes = 16;

// A direction's operation and its attributes.
struct Operation {
  cudnnBackendDescriptorType_t type = {};
  cudnnBackendAttributeName_t x = {};
  cudnnBackendAttributeName_t filter = {};
  cudnnBackendAttributeName_t y = {};
  cudnnBackendAttributeName_t convolution = {};
  cudnnBackendAttributeName_t alpha = {};
  cudnnBackendAttributeName_t beta = {};
};

Operation OperationOf(ConvDirection direction) {
  switch (direction) {
    case ConvDirection::kInputGradient:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvDirection::kFilterGradient:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    case ConvDirection::kForward:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
}

absl::StatusOr<GraphDescriptor> MakeTensor(const CudnnApi& api, int64_t uid,
                                           const std::vector<int64_t>& dims,
                                           DType dtype) {
  SPILLWAY_ASSIGN_OR_RETURN(
      GraphDescriptor tensor,
      GraphDescriptor::Create(api, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  SPILLWAY_RETURN_IF_ERROR(tensor.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, uid));
  SPILLWAY_RETURN_IF_ERROR(
      tensor.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CudnnDataType(dtype)));
  SPILLWAY_RETURN_IF_ERROR(
      tensor.SetAll(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span(dims)));
  const std::vector<int64_t> strides = ChannelsLastStrides(dims);
  SPILLWAY_RETURN_IF_ERROR(
      tensor.SetAll(CUDNN_ATTR_TENSOR_STRIDES, std::span(strides)));
  SPILLWAY_RETURN_IF_ERROR(
      tensor.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignmentBytes));
  SPILLWAY_RETURN_IF_ERROR(tensor.Finalize());
  return tensor;
}

// The number of groups follows from the channels of x and of the filter.
absl::StatusOr<GraphDescriptor> MakeConvolution(const CudnnApi& api,
                                                const Window& window) {
  SPILLWAY_ASSIGN_OR_RETURN(
      GraphDescriptor conv,
      GraphDescriptor::Create(api, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  SPILLWAY_RETURN_IF_ERROR(
      conv.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT));
  SPILLWAY_RETURN_IF_ERROR(
      conv.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION));
  SPILLWAY_RETURN_IF_ERROR(conv.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
                                    static_cast<int64_t>(window.size())));
  const auto set = [&](cudnnBackendAttributeName_t name,
                       int64_t WindowDim::*member) {
    const std::vector<int64_t> values = Each(window, member);
    return conv.SetAll(name, std::span(values));
  };
  // Both ends are padded equally: see PadIntoInput.
  SPILLWAY_RETURN_IF_ERROR(
      set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &WindowDim::pad_before));
  SPILLWAY_RETURN_IF_ERROR(
      set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, &WindowDim::pad_before));
  SPILLWAY_RETURN_IF_ERROR(
      set(CUDNN_ATTR_CONVOLUTION_DILATIONS, &WindowDim::dilation));
  SPILLWAY_RETURN_IF_ERROR(
      set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, &WindowDim::stride));
  SPILLWAY_RETURN_IF_ERROR(conv.Finalize());
  return conv;
}

absl::StatusOr<GraphDescriptor> MakeOperation(
    const CudnnApi& api, ConvDirection direction, const ConvTensors& tensors,
    const GraphDescriptor& convolution) {
  const Operation names = OperationOf(direction);
  SPILLWAY_ASSIGN_OR_RETURN(GraphDescriptor operation,
                            GraphDescriptor::Create(api, names.type));
  SPILLWAY_RETURN_IF_ERROR(operation.Set(names.x, tensors.x));
  SPILLWAY_RETURN_IF_ERROR(operation.Set(names.filter, tensors.filter));
  SPILLWAY_RETURN_IF_ERROR(operation.Set(names.y, tensors.y));
  SPILLWAY_RETURN_IF_ERROR(operation.Set(names.convolution, convolution));
  SPILLWAY_RETURN_IF_ERROR(operation.Set(names.alpha, 1.0F));
  SPILLWAY_RETURN_IF_ERROR(operation.Set(names.beta, 0.0F));
  SPILLWAY_RETURN_IF_ERROR(operation.Finalize());
  return operation;
}

absl::StatusOr<ConvTensors> MakeTensors(const CudnnApi& api,
                                        const ConvProblem& problem) {
  const ConvDims dims = DimsOf(problem.geometry);
  SPILLWAY_ASSIGN_OR_RETURN(GraphDescriptor x,
                            MakeTensor(api, kConvX, dims.x, problem.dtype));
  SPILLWAY_ASSIGN_OR_RETURN(
      GraphDescriptor filter,
      MakeTensor(api, kConvFilter, dims.filter, problem.filter_dtype));
  SPILLWAY_ASSIGN_OR_RETURN(GraphDescriptor y,
                            MakeTensor(api, kConvY, dims.y, problem.dtype));
  return ConvTensors{
      .x = std::move(x), .filter = std::move(filter), .y = std::move(y)};
}

}  // namespace

absl::StatusOr<ConvGraph> MakeConvGraph(const LockedCudnn& cudnn,
                                        const ConvProblem& problem) {
  const CudnnApi& api = cudnn.api;
  SPILLWAY_ASSIGN_OR_RETURN(ConvTensors tensors, MakeTensors(api, problem));
  SPILLWAY_ASSIGN_OR_RETURN(GraphDescriptor convolution,
                            MakeConvolution(api, problem.geometry.window));
  SPILLWAY_ASSIGN_OR_RETURN(
      GraphDescriptor operation,
      MakeOperation(api, problem.direction, tensors, convolution));
  SPILLWAY_ASSIGN_OR_RETURN(
      GraphDescriptor graph,
      GraphDescriptor::Create(api, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  SPILLWAY_RETURN_IF_ERROR(
      graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, cudnn.handle));
  SPILLWAY_RETURN_IF_ERROR(graph.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation));
  SPILLWAY_RETURN_IF_ERROR(graph.Finalize());
  return ConvGraph{.tensors = std::move(tensors),
                   .convolution = std::move(convolution),
                   .operation = std::move(operation),
                   .graph = std::move(graph)};
}

}  // namespace spillway
