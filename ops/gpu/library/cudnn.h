// The functions of cuDNN 9 that the GPU's convolutions call, from the library
// that is opened at the first of them.
//
// Source: NVIDIA, "cuDNN API Reference", version 9, cudnn_graph, cudnn_ops and
// cudnn_cnn.
#ifndef SPILLWAY_OPS_GPU_LIBRARY_CUDNN_H_
#define SPILLWAY_OPS_GPU_LIBRARY_CUDNN_H_

#include <cudnn.h>

#include <memory>
#include <mutex>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace spillway {

struct CudnnApi {
  decltype(&::cudnnGetVersion) get_version = nullptr;
  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnDestroy) destroy = nullptr;
  decltype(&::cudnnSetStream) set_stream = nullptr;
  decltype(&::cudnnGetErrorString) get_error_string = nullptr;
  decltype(&::cudnnGetLastErrorString) get_last_error_string = nullptr;

  decltype(&::cudnnCreateTensorDescriptor) create_tensor = nullptr;
  decltype(&::cudnnSetTensorNdDescriptor) set_tensor = nullptr;
  decltype(&::cudnnDestroyTensorDescriptor) destroy_tensor = nullptr;

  decltype(&::cudnnCreateFilterDescriptor) create_filter = nullptr;
  decltype(&::cudnnSetFilterNdDescriptor) set_filter = nullptr;
  decltype(&::cudnnDestroyFilterDescriptor) destroy_filter = nullptr;

  decltype(&::cudnnCreateConvolutionDescriptor) create_convolution = nullptr;
  decltype(&::cudnnSetConvolutionNdDescriptor) set_convolution = nullptr;
  decltype(&::cudnnSetConvolutionGroupCount) set_group_count = nullptr;
  decltype(&::cudnnSetConvolutionMathType) set_math_type = nullptr;
  decltype(&::cudnnDestroyConvolutionDescriptor) destroy_convolution = nullptr;

  decltype(&::cudnnGetConvolutionForwardAlgorithm_v7) get_forward_algorithm =
      nullptr;
  decltype(&::cudnnGetConvolutionForwardWorkspaceSize)
      get_forward_workspace_size = nullptr;
  decltype(&::cudnnConvolutionForward) forward = nullptr;

  decltype(&::cudnnGetConvolutionBackwardDataAlgorithm_v7)
      get_backward_data_algorithm = nullptr;
  decltype(&::cudnnGetConvolutionBackwardDataWorkspaceSize)
      get_backward_data_workspace_size = nullptr;
  decltype(&::cudnnConvolutionBackwardData) backward_data = nullptr;

  decltype(&::cudnnGetConvolutionBackwardFilterAlgorithm_v7)
      get_backward_filter_algorithm = nullptr;
  decltype(&::cudnnGetConvolutionBackwardFilterWorkspaceSize)
      get_backward_filter_workspace_size = nullptr;
  decltype(&::cudnnConvolutionBackwardFilter) backward_filter = nullptr;

  // The graph API, whose objects are all "backend descriptors".
  decltype(&::cudnnBackendCreateDescriptor) create_backend = nullptr;
  decltype(&::cudnnBackendDestroyDescriptor) destroy_backend = nullptr;
  decltype(&::cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&::cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&::cudnnBackendFinalize) finalize = nullptr;
  decltype(&::cudnnBackendExecute) execute = nullptr;
};

// Opens the library at the first call; the table is borrowed for the life of
// the process. Threads: any. Errors: UNAVAILABLE, the same at every call.
absl::StatusOr<const CudnnApi*> Cudnn();

// The handle of a device, which one thread uses at a time: others, whatever
// their device, wait in LockCudnn until this is gone. That is short, as calls
// only queue work.
struct LockedCudnn {
  const CudnnApi& api;
  cudnnHandle_t handle = nullptr;
  std::unique_lock<std::mutex> lock = {};
};

// Of the device that is current, whose handle is created at the first call.
absl::StatusOr<LockedCudnn> LockCudnn();

// From now on Cudnn() gives `api`, borrowed; null: the library. The handles of
// the table before are destroyed.
void SetCudnnForTest(const CudnnApi* api);

// "<call>: CUDNN_STATUS_... (<text>)", UNIMPLEMENTED for what the library does
// not support, RESOURCE_EXHAUSTED where its own memory ran out, else INTERNAL;
// OK for success.
absl::Status CudnnStatus(const CudnnApi& api, cudnnStatus_t status,
                         std::string_view call);

// Descriptors that are destroyed with their owner.
template <typename T>
using CudnnOwned =
    std::unique_ptr<std::remove_pointer_t<T>, cudnnStatus_t (*)(T)>;
using CudnnTensor = CudnnOwned<cudnnTensorDescriptor_t>;
using CudnnFilter = CudnnOwned<cudnnFilterDescriptor_t>;
using CudnnConvolution = CudnnOwned<cudnnConvolutionDescriptor_t>;

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_LIBRARY_CUDNN_H_
