#include "ops/gpu/library/cudnn.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/library/shared_library.h"

namespace spillway {
namespace {

void FindBasics(SharedLibrary& library, CudnnApi& api) {
  library.Find("cudnnGetVersion", api.get_version);
  library.Find("cudnnCreate", api.create);
  library.Find("cudnnDestroy", api.destroy);
  library.Find("cudnnSetStream", api.set_stream);
  library.Find("cudnnGetErrorString", api.get_error_string);
  library.Find("cudnnGetLastErrorString", api.get_last_error_string);
}

void FindDescriptors(SharedLibrary& library, CudnnApi& api) {
  library.Find("cudnnCreateTensorDescriptor", api.create_tensor);
  library.Find("cudnnSetTensorNdDescriptor", api.set_tensor);
  library.Find("cudnnDestroyTensorDescriptor", api.destroy_tensor);
  library.Find("cudnnCreateFilterDescriptor", api.create_filter);
  library.Find("cudnnSetFilterNdDescriptor", api.set_filter);
  library.Find("cudnnDestroyFilterDescriptor", api.destroy_filter);
  library.Find("cudnnCreateConvolutionDescriptor", api.create_convolution);
  library.Find("cudnnSetConvolutionNdDescriptor", api.set_convolution);
  library.Find("cudnnSetConvolutionGroupCount", api.set_group_count);
  library.Find("cudnnSetConvolutionMathType", api.set_math_type);
  library.Find("cudnnDestroyConvolutionDescriptor", api.destroy_convolution);
}

void FindConvolutions(SharedLibrary& library, CudnnApi& api) {
  library.Find("cudnnGetConvolutionForwardAlgorithm_v7",
               api.get_forward_algorithm);
  library.Find("cudnnGetConvolutionForwardWorkspaceSize",
               api.get_forward_workspace_size);
  library.Find("cudnnConvolutionForward", api.forward);
  library.Find("cudnnGetConvolutionBackwardDataAlgorithm_v7",
               api.get_backward_data_algorithm);
  library.Find("cudnnGetConvolutionBackwardDataWorkspaceSize",
               api.get_backward_data_workspace_size);
  library.Find("cudnnConvolutionBackwardData", api.backward_data);
  library.Find("cudnnGetConvolutionBackwardFilterAlgorithm_v7",
               api.get_backward_filter_algorithm);
  library.Find("cudnnGetConvolutionBackwardFilterWorkspaceSize",
               api.get_backward_filter_workspace_size);
  library.Find("cudnnConvolutionBackwardFilter", api.backward_filter);
}

void FindGraphs(SharedLibrary& library, CudnnApi& api) {
  library.Find("cudnnBackendCreateDescriptor", api.create_backend);
  library.Find("cudnnBackendDestroyDescriptor", api.destroy_backend);
  library.Find("cudnnBackendSetAttribute", api.set_attribute);
  library.Find("cudnnBackendGetAttribute", api.get_attribute);
  library.Find("cudnnBackendFinalize", api.finalize);
  library.Find("cudnnBackendExecute", api.execute);
}

absl::StatusOr<CudnnApi> LoadCudnn() {
  SharedLibrary library(VersionedNames("libcudnn", CUDNN_MAJOR, {}));
  CudnnApi api;
  FindBasics(library, api);
  FindDescriptors(library, api);
  FindConvolutions(library, api);
  FindGraphs(library, api);
  SPILLWAY_RETURN_IF_ERROR(library.status());
  return api;
}

SharedApi<CudnnApi, cudnnHandle_t>& SharedCudnn() {
  static SharedApi<CudnnApi, cudnnHandle_t> shared = {.load = LoadCudnn};
  return shared;
}

}  // namespace

absl::StatusOr<const CudnnApi*> Cudnn() {
  auto& shared = SharedCudnn();
  const std::lock_guard lock(shared.mutex);
  return shared.Get();
}

absl::StatusOr<LockedCudnn> LockCudnn() {
  auto& shared = SharedCudnn();
  std::unique_lock lock(shared.mutex);
  SPILLWAY_ASSIGN_OR_RETURN(const CudnnApi* api, shared.Get());
  SPILLWAY_ASSIGN_OR_RETURN(const int device, CurrentGpu());
  cudnnHandle_t& handle = shared.handles[device];
  if (handle == nullptr) {
    SPILLWAY_RETURN_IF_ERROR(
        CudnnStatus(*api, api->create(&handle), "cudnnCreate"));
  }
  return LockedCudnn{.api = *api, .handle = handle, .lock = std::move(lock)};
}

void SetCudnnForTest(const CudnnApi* api) { SharedCudnn().SetForTest(api); }

absl::Status CudnnStatus(const CudnnApi& api, cudnnStatus_t status,
                         std::string_view call) {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  std::array<char, 512> text = {};
  api.get_last_error_string(text.data(), text.size());
  const std::string message = fmt::format(
      "{}: {} ({})", call, api.get_error_string(status), text.data());
  if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) {
    return ResourceExhausted(message);
  }
  return status >= CUDNN_STATUS_NOT_SUPPORTED &&
                 status < CUDNN_STATUS_INTERNAL_ERROR
             ? Unimplemented(message)
             : Internal(message);
}

}  // namespace spillway
