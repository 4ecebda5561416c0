#include "ops/gpu/thread/launch.cuh"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

const char* LaunchErrorText(LaunchError error) {
#ifdef SPILLWAY_CUDA_EMULATION
  return error == 0 ? "no error" : "an emulated error";
#else
  return cudaGetErrorString(static_cast<cudaError_t>(error));
#endif
}

LaunchError CurrentDevice(int* device) {
#ifdef SPILLWAY_CUDA_EMULATION
  *device = cuda_emulation::CurrentDevice();
  return 0;
#else
  return static_cast<LaunchError>(cudaGetDevice(device));
#endif
}

}  // namespace spillway::gpu
