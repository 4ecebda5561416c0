#include "tests/ops/gpu/fake_cudnn_operation.h"

#include <set>
#include <vector>

namespace spillway::testing {
namespace {

FakeOperand OperandOf(const FakeBackend& tensor) {
  return {.tensor = {.type = tensor.One<cudnnDataType_t>(
                         CUDNN_ATTR_TENSOR_DATA_TYPE),
                     .dims = tensor.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
                     .strides = tensor.All<int64_t>(CUDNN_ATTR_TENSOR_STRIDES)},
          .uid = tensor.One<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)};
}

// The names of a direction's attributes.
struct Names {
  cudnnBackendAttributeName_t x = {};
  cudnnBackendAttributeName_t filter = {};
  cudnnBackendAttributeName_t y = {};
  cudnnBackendAttributeName_t conv = {};
  cudnnBackendAttributeName_t alpha = {};
  cudnnBackendAttributeName_t beta = {};
};

Names NamesOf(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return {.x = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              .filter = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              .y = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              .conv = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {.x = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              .filter = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              .y = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              .conv = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {.x = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              .filter = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              .y = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              .conv = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

}  // namespace

FakeOperation OperationOf(const FakeBackend& backend) {
  const Names names = NamesOf(backend.type);
  const FakeBackend& conv = backend.Child(names.conv);
  const FakeOperand filter = OperandOf(backend.Child(names.filter));
  FakeOperation operation = {
      .type = backend.type,
      .x = OperandOf(backend.Child(names.x)),
      .y = OperandOf(backend.Child(names.y)),
      .filter_uid = filter.uid,
      .filter = {filter.tensor},
      .conv = {
          .pads = conv.All<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
          .strides = conv.All<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
          .dilations = conv.All<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS)}};
  operation.conv.groups = operation.x.tensor.dims[1] / filter.tensor.dims[1];
  return operation;
}

bool IsGoodTensor(const FakeBackend& tensor) {
  return IsGood(OperandOf(tensor).tensor) &&
         tensor.One<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) == 16;
}

bool IsGoodConvolution(const FakeBackend& conv) {
  const auto spatial = static_cast<size_t>(
      conv.One<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  const auto pads = conv.All<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  return conv.One<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) ==
             CUDNN_DATA_FLOAT &&
         conv.One<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) ==
             CUDNN_CROSS_CORRELATION &&
         pads == conv.All<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS) &&
         pads.size() == spatial &&
         conv.All<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS).size() ==
             spatial &&
         conv.All<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES).size() ==
             spatial;
}

bool IsGoodOperation(const FakeBackend& backend) {
  const Names names = NamesOf(backend.type);
  const FakeOperation operation = OperationOf(backend);
  const std::set<int64_t> uids = {operation.x.uid, operation.filter_uid,
                                  operation.y.uid};
  return Fit(operation.problem()) && uids.size() == 3 &&
         backend.One<float>(names.alpha) == 1 &&
         backend.One<float>(names.beta) == 0;
}

bool AreOperands(const FakeOperation& operation,
                 const std::map<int64_t, void*>& data) {
  return data.size() == 3 && data.contains(operation.x.uid) &&
         data.contains(operation.filter_uid) && data.contains(operation.y.uid);
}

void Compute(const FakeOperation& operation,
             const std::map<int64_t, void*>& data) {
  const FakeProblem problem = operation.problem();
  void* const x = data.at(operation.x.uid);
  void* const filter = data.at(operation.filter_uid);
  void* const y = data.at(operation.y.uid);
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return ComputeForward(problem, x, filter, y);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return ComputeBackwardData(problem, x, filter, y);
    default:
      return ComputeBackwardFilter(problem, x, filter, y);
  }
}

}  // namespace spillway::testing
