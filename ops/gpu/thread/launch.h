// What host code and CUDA sources say to each other. CUDA sources (.cu) see
// plain types only: no graph, no Status, so that nvcc compiles them fast.
#ifndef SPILLWAY_OPS_GPU_THREAD_LAUNCH_H_
#define SPILLWAY_OPS_GPU_THREAD_LAUNCH_H_

namespace spillway::gpu {

// A cudaStream_t, as KernelContext::stream has it.
using StreamHandle = void*;

// The cudaError_t of a launch; 0: it was queued.
using LaunchError = int;

// In words, static text.
const char* LaunchErrorText(LaunchError error);

// The number of the GPU that this thread's calls are for.
LaunchError CurrentDevice(int* device);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_THREAD_LAUNCH_H_
