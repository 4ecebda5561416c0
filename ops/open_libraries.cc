#include "ops/open_libraries.h"

#include "executor/device/cuda/cuda_backend.h"

namespace spillway {

absl::Status OpenKernelLibraries(DeviceKind kind) {
  if (kind == DeviceKind::kCpu) return absl::OkStatus();
  const CudaBackend* backend = LinkedCudaBackend();
  return backend == nullptr ? NoCudaBackend() : backend->open_libraries();
}

}  // namespace spillway
