// What spillway::cuda adds to a program that links it: the CUDA runtime and the
// GPU's kernels. The libraries below access it only through this table, so a
// program that does not link spillway::cuda contains no CUDA code.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_BACKEND_H_
#define SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_BACKEND_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/device/cuda/cuda_api.h"

namespace spillway {

class KernelRegistry;
class NcclApi;  // comm/nccl/nccl_api.h

struct CudaBackend {
  // One per process; any thread may call it.
  CudaApi& (*runtime)() = nullptr;
  // Adds a kernel of DeviceKind::kCuda for every op that has one.
  void (*add_kernels)(KernelRegistry& kernels) = nullptr;
  // "cuDNN 9.13.1, cuBLASLt 13.0.2". Errors: UNAVAILABLE without them.
  absl::StatusOr<std::string> (*libraries)() = nullptr;
  // Creates the libraries' handles, which take device memory. Errors:
  // UNAVAILABLE without the libraries.
  absl::Status (*open_libraries)() = nullptr;
  // One per process. Errors: UNAVAILABLE without NCCL.
  absl::StatusOr<NcclApi*> (*nccl)() = nullptr;
};

// Null in programs that do not link spillway::cuda.
const CudaBackend* LinkedCudaBackend();

// UNAVAILABLE, with the remedy if LinkedCudaBackend() is null.
absl::Status NoCudaBackend();

}  // namespace spillway

// Defined by ops/gpu/cuda_backend.cc in spillway::cuda, which makes the linker
// look for this symbol. C linkage, so that the symbol is the same in every
// build.
extern "C" const spillway::CudaBackend spillway_cuda_backend;

#endif  // SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_BACKEND_H_
