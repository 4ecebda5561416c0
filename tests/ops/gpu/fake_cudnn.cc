#include "tests/ops/gpu/fake_cudnn.h"

#include <cstdio>
#include <functional>
#include <utility>

#include "tests/ops/gpu/fake_cudnn_backend.h"
#include "tests/ops/gpu/fake_cudnn_graph.h"
#include "tests/ops/gpu/fake_cudnn_problem.h"

namespace spillway::testing {
namespace {

constexpr size_t kTwoGiB = size_t{2} << 30;

bool Fails(const char* call) { return FakeCudnn().Fails(call); }

// Creates and destroys objects, which are counted.
template <typename T>
cudnnStatus_t Create(const char* call, T** created) {
  if (Fails(call)) return CUDNN_STATUS_INTERNAL_ERROR;
  *created = new T();
  ++FakeCudnn().objects;
  return CUDNN_STATUS_SUCCESS;
}

template <typename T>
cudnnStatus_t Destroy(T* object) {
  delete object;
  --FakeCudnn().objects;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t CreateHandle(cudnnHandle_t* handle) {
  const cudnnStatus_t status = Create("cudnnCreate", handle);
  if (status == CUDNN_STATUS_SUCCESS) {
    (*handle)->number = FakeCudnn().handles++;
    if (FakeCudnn().on_handle) FakeCudnn().on_handle();
  }
  return status;
}
cudnnStatus_t CreateTensor(cudnnTensorDescriptor_t* tensor) {
  return Create("cudnnCreateTensorDescriptor", tensor);
}
cudnnStatus_t CreateFilter(cudnnFilterDescriptor_t* filter) {
  return Create("cudnnCreateFilterDescriptor", filter);
}
cudnnStatus_t CreateConvolution(cudnnConvolutionDescriptor_t* conv) {
  return Create("cudnnCreateConvolutionDescriptor", conv);
}

cudnnStatus_t SetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (Fails("cudnnSetStream")) return CUDNN_STATUS_BAD_PARAM;
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

const char* ErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "CUDNN_STATUS_OTHER";
  }
}

void LastErrorString(char* text, size_t bytes) {
  std::snprintf(text, bytes, "in words");
}

cudnnStatus_t SetTensor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type,
                        int rank, const int* dims, const int* strides) {
  *tensor = {.type = type,
             .dims = {dims, dims + rank},
             .strides = {strides, strides + rank}};
  return Fails("cudnnSetTensorNdDescriptor") || !IsGood(*tensor)
             ? CUDNN_STATUS_BAD_PARAM
             : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t SetFilter(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                        cudnnTensorFormat_t format, int rank, const int* dims) {
  if (format != CUDNN_TENSOR_NHWC) return CUDNN_STATUS_NOT_SUPPORTED;
  filter->type = type;
  filter->dims = {dims, dims + rank};
  filter->strides = ChannelsLastStrides(filter->dims);
  return Fails("cudnnSetFilterNdDescriptor") || !IsGood(*filter)
             ? CUDNN_STATUS_BAD_PARAM
             : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t SetConvolution(cudnnConvolutionDescriptor_t conv, int rank,
                             const int* pads, const int* strides,
                             const int* dilations, cudnnConvolutionMode_t mode,
                             cudnnDataType_t compute_type) {
  *conv = {.pads = {pads, pads + rank},
           .strides = {strides, strides + rank},
           .dilations = {dilations, dilations + rank}};
  return Fails("cudnnSetConvolutionNdDescriptor") ||
                 mode != CUDNN_CROSS_CORRELATION ||
                 compute_type != CUDNN_DATA_FLOAT
             ? CUDNN_STATUS_BAD_PARAM
             : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t SetGroupCount(cudnnConvolutionDescriptor_t conv, int groups) {
  conv->groups = groups;
  return Fails("cudnnSetConvolutionGroupCount") ? CUDNN_STATUS_BAD_PARAM
                                                : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t SetMathType(cudnnConvolutionDescriptor_t conv,
                          cudnnMathType_t math) {
  conv->math = math;
  return Fails("cudnnSetConvolutionMathType") ? CUDNN_STATUS_BAD_PARAM
                                              : CUDNN_STATUS_SUCCESS;
}

// The legacy API computes in one dtype.
bool AllFit(const FakeProblem& p) {
  return Fit(p) && p.x.type == p.filter.type;
}

// How the heuristics describe the algorithms with these numbers.
struct Numbers {
  int unsupported = 0;
  int not_deterministic = -1;   // -1: none
  int said_deterministic = -1;  // claimed, but wrong
  int too_large = 0;
  int good = 1;
};

std::vector<FakeSuggestion> Suggestions(const Numbers& numbers) {
  if (!FakeCudnn().suggestions.empty()) return FakeCudnn().suggestions;
  std::vector<FakeSuggestion> suggestions = {
      {.algorithm = numbers.unsupported, .status = CUDNN_STATUS_NOT_SUPPORTED},
      {.algorithm = numbers.too_large, .more_workspace_bytes = kTwoGiB},
      {.algorithm = numbers.good}};
  if (numbers.not_deterministic >= 0) {
    suggestions.insert(suggestions.begin(),
                       {{.algorithm = numbers.not_deterministic,
                         .is_said_deterministic = false},
                        {.algorithm = numbers.said_deterministic}});
  }
  return suggestions;
}

template <typename Result>
cudnnStatus_t Suggest(const char* call, const FakeProblem& p,
                      const Numbers& numbers, int most, int* count,
                      Result* results) {
  if (Fails(call) || !AllFit(p)) return CUDNN_STATUS_BAD_PARAM;
  *count = 0;
  for (const FakeSuggestion& suggestion : Suggestions(numbers)) {
    if (*count == most) break;
    results[(*count)++] = {
        .algo = static_cast<decltype(Result::algo)>(suggestion.algorithm),
        .status = suggestion.status,
        .time = -1,
        .memory = 1,  // only WorkspaceSize is correct
        .determinism = suggestion.is_said_deterministic
                           ? CUDNN_DETERMINISTIC
                           : CUDNN_NON_DETERMINISTIC,
        .mathType = suggestion.math.value_or(p.x.type == CUDNN_DATA_FLOAT
                                                 ? CUDNN_DEFAULT_MATH
                                                 : CUDNN_TENSOR_OP_MATH),
        .reserved = {}};
  }
  return CUDNN_STATUS_SUCCESS;
}

size_t NeededBytes(const Numbers& numbers, int algorithm) {
  size_t bytes = FakeCudnn().workspace_bytes;
  for (const FakeSuggestion& suggestion : Suggestions(numbers)) {
    if (suggestion.algorithm == algorithm) {
      bytes += suggestion.more_workspace_bytes;
    }
  }
  return bytes;
}

cudnnStatus_t WorkspaceSize(const char* call, const FakeProblem& p,
                            const Numbers& numbers, int algorithm,
                            size_t* bytes) {
  if (Fails(call) || !AllFit(p)) return CUDNN_STATUS_BAD_PARAM;
  *bytes = NeededBytes(numbers, algorithm);
  return CUDNN_STATUS_SUCCESS;
}

// The arguments of the three computations except their tensors.
struct Call {
  const char* name = nullptr;
  cudnnHandle_t handle = nullptr;
  const void* alpha = nullptr;
  const void* beta = nullptr;
  int algorithm = 0;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

cudnnStatus_t Compute(const Call& call, const FakeProblem& p,
                      const Numbers& numbers, std::function<void()> compute) {
  FakeCudnnState& fake = FakeCudnn();
  if (Fails(call.name) || !AllFit(p) ||
      *static_cast<const float*>(call.alpha) != 1 ||
      *static_cast<const float*>(call.beta) != 0 ||
      (fake.computes_only_deterministically &&
       (call.algorithm == numbers.not_deterministic ||
        call.algorithm == numbers.said_deterministic)) ||
      call.workspace_bytes < NeededBytes(numbers, call.algorithm)) {
    return CUDNN_STATUS_EXECUTION_FAILED;
  }
  fake.handle_number = call.handle->number;
  fake.engine = -1;
  fake.algorithm = call.algorithm;
  fake.math = p.conv.math;
  fake.Queue(call.handle->stream, [call, compute = std::move(compute)] {
    Overwrite(call.workspace, call.workspace_bytes);
    compute();
  });
  return CUDNN_STATUS_SUCCESS;
}

constexpr Numbers kForward = {
    .unsupported = CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD,
    .too_large = CUDNN_CONVOLUTION_FWD_ALGO_FFT,
    .good = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM};

cudnnStatus_t GetForwardAlgorithm(cudnnHandle_t /*handle*/,
                                  const cudnnTensorDescriptor_t x,
                                  const cudnnFilterDescriptor_t filter,
                                  const cudnnConvolutionDescriptor_t conv,
                                  const cudnnTensorDescriptor_t y, int most,
                                  int* count,
                                  cudnnConvolutionFwdAlgoPerf_t* results) {
  return Suggest("cudnnGetConvolutionForwardAlgorithm_v7",
                 {*x, *filter, *conv, *y}, kForward, most, count, results);
}

cudnnStatus_t GetForwardWorkspaceSize(cudnnHandle_t /*handle*/,
                                      const cudnnTensorDescriptor_t x,
                                      const cudnnFilterDescriptor_t filter,
                                      const cudnnConvolutionDescriptor_t conv,
                                      const cudnnTensorDescriptor_t y,
                                      cudnnConvolutionFwdAlgo_t algorithm,
                                      size_t* bytes) {
  return WorkspaceSize("cudnnGetConvolutionForwardWorkspaceSize",
                       {*x, *filter, *conv, *y}, kForward, algorithm, bytes);
}

cudnnStatus_t Forward(cudnnHandle_t handle, const void* alpha,
                      const cudnnTensorDescriptor_t x, const void* x_data,
                      const cudnnFilterDescriptor_t filter,
                      const void* filter_data,
                      const cudnnConvolutionDescriptor_t conv,
                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace,
                      size_t workspace_bytes, const void* beta,
                      const cudnnTensorDescriptor_t y, void* y_data) {
  const FakeProblem p = {*x, *filter, *conv, *y};
  return Compute({"cudnnConvolutionForward", handle, alpha, beta, algorithm,
                  workspace, workspace_bytes},
                 p, kForward,
                 [=] { ComputeForward(p, x_data, filter_data, y_data); });
}

constexpr Numbers kBackwardData = {
    .unsupported = CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED,
    .not_deterministic = CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
    .said_deterministic = CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
    .too_large = CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD,
    .good = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};

cudnnStatus_t GetBackwardDataAlgorithm(
    cudnnHandle_t /*handle*/, const cudnnFilterDescriptor_t filter,
    const cudnnTensorDescriptor_t y, const cudnnConvolutionDescriptor_t conv,
    const cudnnTensorDescriptor_t x, int most, int* count,
    cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return Suggest("cudnnGetConvolutionBackwardDataAlgorithm_v7",
                 {*x, *filter, *conv, *y}, kBackwardData, most, count, results);
}

cudnnStatus_t GetBackwardDataWorkspaceSize(
    cudnnHandle_t /*handle*/, const cudnnFilterDescriptor_t filter,
    const cudnnTensorDescriptor_t y, const cudnnConvolutionDescriptor_t conv,
    const cudnnTensorDescriptor_t x, cudnnConvolutionBwdDataAlgo_t algorithm,
    size_t* bytes) {
  return WorkspaceSize("cudnnGetConvolutionBackwardDataWorkspaceSize",
                       {*x, *filter, *conv, *y}, kBackwardData, algorithm,
                       bytes);
}

cudnnStatus_t BackwardData(cudnnHandle_t handle, const void* alpha,
                           const cudnnFilterDescriptor_t filter,
                           const void* filter_data,
                           const cudnnTensorDescriptor_t y, const void* y_data,
                           const cudnnConvolutionDescriptor_t conv,
                           cudnnConvolutionBwdDataAlgo_t algorithm,
                           void* workspace, size_t workspace_bytes,
                           const void* beta, const cudnnTensorDescriptor_t x,
                           void* x_data) {
  const FakeProblem p = {*x, *filter, *conv, *y};
  return Compute({"cudnnConvolutionBackwardData", handle, alpha, beta,
                  algorithm, workspace, workspace_bytes},
                 p, kBackwardData,
                 [=] { ComputeBackwardData(p, x_data, filter_data, y_data); });
}

constexpr Numbers kBackwardFilter = {
    .unsupported = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT,
    .not_deterministic = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0,
    .said_deterministic = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3,
    .too_large = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED,
    .good = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};

cudnnStatus_t GetBackwardFilterAlgorithm(
    cudnnHandle_t /*handle*/, const cudnnTensorDescriptor_t x,
    const cudnnTensorDescriptor_t y, const cudnnConvolutionDescriptor_t conv,
    const cudnnFilterDescriptor_t filter, int most, int* count,
    cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return Suggest("cudnnGetConvolutionBackwardFilterAlgorithm_v7",
                 {*x, *filter, *conv, *y}, kBackwardFilter, most, count,
                 results);
}

cudnnStatus_t GetBackwardFilterWorkspaceSize(
    cudnnHandle_t /*handle*/, const cudnnTensorDescriptor_t x,
    const cudnnTensorDescriptor_t y, const cudnnConvolutionDescriptor_t conv,
    const cudnnFilterDescriptor_t filter,
    cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* bytes) {
  return WorkspaceSize("cudnnGetConvolutionBackwardFilterWorkspaceSize",
                       {*x, *filter, *conv, *y}, kBackwardFilter, algorithm,
                       bytes);
}

cudnnStatus_t BackwardFilter(
    cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x,
    const void* x_data, const cudnnTensorDescriptor_t y, const void* y_data,
    const cudnnConvolutionDescriptor_t conv,
    cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace,
    size_t workspace_bytes, const void* beta,
    const cudnnFilterDescriptor_t filter, void* filter_data) {
  const FakeProblem p = {*x, *filter, *conv, *y};
  return Compute({"cudnnConvolutionBackwardFilter", handle, alpha, beta,
                  algorithm, workspace, workspace_bytes},
                 p, kBackwardFilter, [=] {
                   ComputeBackwardFilter(p, x_data, filter_data, y_data);
                 });
}

}  // namespace

FakeCudnnState& FakeCudnn() {
  static FakeCudnnState state;
  return state;
}

const CudnnApi& FakeCudnnApi() {
  static const CudnnApi kApi = {
      .get_version = [] { return size_t{91301}; },
      .create = CreateHandle,
      .destroy = Destroy<cudnnContext>,
      .set_stream = SetStream,
      .get_error_string = ErrorString,
      .get_last_error_string = LastErrorString,
      .create_tensor = CreateTensor,
      .set_tensor = SetTensor,
      .destroy_tensor = Destroy<cudnnTensorStruct>,
      .create_filter = CreateFilter,
      .set_filter = SetFilter,
      .destroy_filter = Destroy<cudnnFilterStruct>,
      .create_convolution = CreateConvolution,
      .set_convolution = SetConvolution,
      .set_group_count = SetGroupCount,
      .set_math_type = SetMathType,
      .destroy_convolution = Destroy<cudnnConvolutionStruct>,
      .get_forward_algorithm = GetForwardAlgorithm,
      .get_forward_workspace_size = GetForwardWorkspaceSize,
      .forward = Forward,
      .get_backward_data_algorithm = GetBackwardDataAlgorithm,
      .get_backward_data_workspace_size = GetBackwardDataWorkspaceSize,
      .backward_data = BackwardData,
      .get_backward_filter_algorithm = GetBackwardFilterAlgorithm,
      .get_backward_filter_workspace_size = GetBackwardFilterWorkspaceSize,
      .backward_filter = BackwardFilter,
      .create_backend = CreateFakeBackend,
      .destroy_backend = DestroyFakeBackend,
      .set_attribute = SetFakeAttribute,
      .get_attribute = GetFakeAttribute,
      .finalize = FinalizeFakeBackend,
      .execute = ExecuteFakePlan,
  };
  return kApi;
}

}  // namespace spillway::testing
