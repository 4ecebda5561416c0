// The interface between host code and CUDA sources. CUDA sources (.cu) see
// plain types only: no graph, no Status, so that nvcc compiles them fast.
#ifndef SPILLWAY_OPS_GPU_THREAD_LAUNCH_H_
#define SPILLWAY_OPS_GPU_THREAD_LAUNCH_H_

namespace spillway::gpu {

// A cudaStream_t, as in KernelContext::stream.
using StreamHandle = void*;

// The cudaError_t of a launch; 0: it was queued.
using LaunchError = int;

// As static text.
const char* LaunchErrorText(LaunchError error);

// The number of this thread's current GPU.
LaunchError CurrentDevice(int* device);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_THREAD_LAUNCH_H_
