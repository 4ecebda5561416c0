#include "executor/device/cuda/cuda_backend.h"

#include "base/status_macros.h"

// Weak in this file only: its address is null if no library defines it.
extern "C" [[gnu::weak]] const spillway::CudaBackend spillway_cuda_backend;

namespace spillway {

const CudaBackend* LinkedCudaBackend() { return &spillway_cuda_backend; }

absl::Status NoCudaBackend() {
  return Unavailable(
      "the CUDA backend is not linked into this program; link spillway::cuda, "
      "which a Spillway built with CUDA has, or use the device cpu");
}

}  // namespace spillway
