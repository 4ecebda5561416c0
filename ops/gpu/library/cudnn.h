// The functions of cuDNN 9 that the GPU's convolutions call. The library is
// opened at the first call of one of them.
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

// Opens the library at the first call; the table is borrowed for the lifetime
// of the process. Thread-safe. Errors: UNAVAILABLE, the same at every call.
absl::StatusOr<const CudnnApi*> Cudnn();

// The handle of a device, for use by one thread at a time: other threads,
// whatever their device, wait in LockCudnn until this object is destroyed. The
// wait is short, as calls only queue work.
struct LockedCudnn {
  const CudnnApi& api;
  cudnnHandle_t handle = nullptr;
  std::unique_lock<std::mutex> lock = {};
};

// Locks the handle of the current device; creates it at the first call.
absl::StatusOr<LockedCudnn> LockCudnn();

// Makes Cudnn() return `api`, borrowed; null: the library again. Destroys the
// handles of the previous table.
void SetCudnnForTest(const CudnnApi* api);

// "<call>: CUDNN_STATUS_... (<text>)": UNIMPLEMENTED if the library does not
// support the request, RESOURCE_EXHAUSTED if its internal memory ran out, else
// INTERNAL; OK for success.
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
