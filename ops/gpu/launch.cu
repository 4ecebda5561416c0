#include "ops/gpu/launch.h"

#ifndef SPILLWAY_CUDA_EMULATION
#include <cuda_runtime.h>
#endif

namespace spillway::gpu {

const char* LaunchErrorText(LaunchError error) {
#ifdef SPILLWAY_CUDA_EMULATION
  return error == 0 ? "no error" : "an emulated error";
#else
  return cudaGetErrorString(static_cast<cudaError_t>(error));
#endif
}

}  // namespace spillway::gpu
