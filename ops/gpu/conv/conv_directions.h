// cuDNN's legacy API for a convolution (ConvForward) and its gradients
// (ConvInputGradient, ConvFilterGradient), under common names:
//
//   Find           the algorithms that the heuristic suggests, best first
//   WorkspaceSize  the bytes that one of them needs
//   Run            queues it on the handle's stream
//
// IsDeterministic: the algorithm adds in the same order in every run. Name: the
// name in cuDNN, without CUDNN_CONVOLUTION_..._ALGO_.
#ifndef SPILLWAY_OPS_GPU_CONV_CONV_DIRECTIONS_H_
#define SPILLWAY_OPS_GPU_CONV_CONV_DIRECTIONS_H_

#include <cstddef>
#include <string_view>

#include "ops/gpu/conv/conv_descriptors.h"
#include "ops/gpu/conv/conv_way.h"
#include "ops/gpu/library/cudnn.h"

namespace spillway {

// cuDNN's factors for the result and for the old content of the output.
inline constexpr float kConvOne = 1;
inline constexpr float kConvZero = 0;

struct ConvForward {
  using Algorithm = cudnnConvolutionFwdAlgo_t;
  using Result = cudnnConvolutionFwdAlgoPerf_t;
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
  static constexpr const char* kFindName =
      "cudnnGetConvolutionForwardAlgorithm_v7";
  static constexpr const char* kWorkspaceSizeName =
      "cudnnGetConvolutionForwardWorkspaceSize";
  static constexpr const char* kRunName = "cudnnConvolutionForward";

  static bool IsDeterministic(Algorithm /*algorithm*/) { return true; }

  static std::string_view Name(Algorithm algorithm) {
    switch (algorithm) {
      case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM:
        return "implicit_gemm";
      case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM:
        return "implicit_precomp_gemm";
      case CUDNN_CONVOLUTION_FWD_ALGO_GEMM:
        return "gemm";
      case CUDNN_CONVOLUTION_FWD_ALGO_DIRECT:
        return "direct";
      case CUDNN_CONVOLUTION_FWD_ALGO_FFT:
        return "fft";
      case CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING:
        return "fft_tiling";
      case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD:
        return "winograd";
      case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED:
        return "winograd_nonfused";
      case CUDNN_CONVOLUTION_FWD_ALGO_COUNT:
        break;
    }
    return "unknown";
  }

  static cudnnStatus_t Find(const LockedCudnn& cudnn, const ConvDescriptors& d,
                            int most, int* count, Result* results) {
    return cudnn.api.get_forward_algorithm(cudnn.handle, d.x.get(),
                                           d.filter.get(), d.conv.get(),
                                           d.y.get(), most, count, results);
  }
  static cudnnStatus_t WorkspaceSize(const LockedCudnn& cudnn,
                                     const ConvDescriptors& d,
                                     Algorithm algorithm, size_t* bytes) {
    return cudnn.api.get_forward_workspace_size(cudnn.handle, d.x.get(),
                                                d.filter.get(), d.conv.get(),
                                                d.y.get(), algorithm, bytes);
  }
  static cudnnStatus_t Run(const LockedCudnn& cudnn, const ConvDescriptors& d,
                           Algorithm algorithm, const ConvData& data,
                           size_t workspace_bytes) {
    return cudnn.api.forward(cudnn.handle, &kConvOne, d.x.get(), data.x,
                             d.filter.get(), data.filter, d.conv.get(),
                             algorithm, data.workspace, workspace_bytes,
                             &kConvZero, d.y.get(), data.y);
  }
};

struct ConvInputGradient {
  using Algorithm = cudnnConvolutionBwdDataAlgo_t;
  using Result = cudnnConvolutionBwdDataAlgoPerf_t;
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
  static constexpr const char* kFindName =
      "cudnnGetConvolutionBackwardDataAlgorithm_v7";
  static constexpr const char* kWorkspaceSizeName =
      "cudnnGetConvolutionBackwardDataWorkspaceSize";
  static constexpr const char* kRunName = "cudnnConvolutionBackwardData";

  static bool IsDeterministic(Algorithm algorithm) {
    return algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 ||
           algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD ||
           algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED;
  }

  static std::string_view Name(Algorithm algorithm) {
    switch (algorithm) {
      case CUDNN_CONVOLUTION_BWD_DATA_ALGO_0:
        return "algo_0";
      case CUDNN_CONVOLUTION_BWD_DATA_ALGO_1:
        return "algo_1";
      case CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT:
        return "fft";
      case CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING:
        return "fft_tiling";
      case CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD:
        return "winograd";
      case CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED:
        return "winograd_nonfused";
      case CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT:
        break;
    }
    return "unknown";
  }

  static cudnnStatus_t Find(const LockedCudnn& cudnn, const ConvDescriptors& d,
                            int most, int* count, Result* results) {
    return cudnn.api.get_backward_data_algorithm(
        cudnn.handle, d.filter.get(), d.y.get(), d.conv.get(), d.x.get(), most,
        count, results);
  }
  static cudnnStatus_t WorkspaceSize(const LockedCudnn& cudnn,
                                     const ConvDescriptors& d,
                                     Algorithm algorithm, size_t* bytes) {
    return cudnn.api.get_backward_data_workspace_size(
        cudnn.handle, d.filter.get(), d.y.get(), d.conv.get(), d.x.get(),
        algorithm, bytes);
  }
  static cudnnStatus_t Run(const LockedCudnn& cudnn, const ConvDescriptors& d,
                           Algorithm algorithm, const ConvData& data,
                           size_t workspace_bytes) {
    return cudnn.api.backward_data(cudnn.handle, &kConvOne, d.filter.get(),
                                   data.filter, d.y.get(), data.y, d.conv.get(),
                                   algorithm, data.workspace, workspace_bytes,
                                   &kConvZero, d.x.get(), data.x);
  }
};

struct ConvFilterGradient {
  using Algorithm = cudnnConvolutionBwdFilterAlgo_t;
  using Result = cudnnConvolutionBwdFilterAlgoPerf_t;
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;
  static constexpr const char* kFindName =
      "cudnnGetConvolutionBackwardFilterAlgorithm_v7";
  static constexpr const char* kWorkspaceSizeName =
      "cudnnGetConvolutionBackwardFilterWorkspaceSize";
  static constexpr const char* kRunName = "cudnnConvolutionBackwardFilter";

  static bool IsDeterministic(Algorithm algorithm) {
    return algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 ||
           algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED;
  }

  static std::string_view Name(Algorithm algorithm) {
    switch (algorithm) {
      case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0:
        return "algo_0";
      case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1:
        return "algo_1";
      case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT:
        return "fft";
      case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3:
        return "algo_3";
      case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD:
        return "winograd";
      case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED:
        return "winograd_nonfused";
      case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING:
        return "fft_tiling";
      case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT:
        break;
    }
    return "unknown";
  }

  static cudnnStatus_t Find(const LockedCudnn& cudnn, const ConvDescriptors& d,
                            int most, int* count, Result* results) {
    return cudnn.api.get_backward_filter_algorithm(
        cudnn.handle, d.x.get(), d.y.get(), d.conv.get(), d.filter.get(), most,
        count, results);
  }
  static cudnnStatus_t WorkspaceSize(const LockedCudnn& cudnn,
                                     const ConvDescriptors& d,
                                     Algorithm algorithm, size_t* bytes) {
    return cudnn.api.get_backward_filter_workspace_size(
        cudnn.handle, d.x.get(), d.y.get(), d.conv.get(), d.filter.get(),
        algorithm, bytes);
  }
  static cudnnStatus_t Run(const LockedCudnn& cudnn, const ConvDescriptors& d,
                           Algorithm algorithm, const ConvData& data,
                           size_t workspace_bytes) {
    return cudnn.api.backward_filter(cudnn.handle, &kConvOne, d.x.get(), data.x,
                                     d.y.get(), data.y, d.conv.get(), algorithm,
                                     data.workspace, workspace_bytes,
                                     &kConvZero, d.filter.get(), data.filter);
  }
};

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_CONV_CONV_DIRECTIONS_H_
