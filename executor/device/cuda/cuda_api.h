// CudaApi: exactly the calls of the CUDA runtime that the backend makes.
//
// It is an interface, so that the backend compiles without CUDA's headers and
// is tested without a GPU, with injected faults (tests/support/fake_cuda.h).
// CudaRuntime (cuda_runtime.h) is the real implementation.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_API_H_
#define SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_API_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace spillway {

class CudaApi {
 public:
  // A cudaError_t; 0: success.
  using Error = int;
  // Errors with a specific meaning for the backend.
  static constexpr Error kMemoryAllocation = 2;
  static constexpr Error kInsufficientDriver = 35;
  static constexpr Error kNoDevice = 100;

  using Stream = void*;  // cudaStream_t
  using Event = void*;   // cudaEvent_t
  using Graph = void*;
  using GraphExec = void*;
  enum class Copy : uint8_t { kToHost, kToDevice };

  virtual ~CudaApi() = default;

  // As text: "out of memory".
  virtual std::string ErrorText(Error error) const = 0;

  virtual Error GetDeviceCount(int* count) = 0;
  // "NVIDIA H200"
  virtual Error GetDeviceName(int device, std::string* name) = 0;
  // "0000:17:00.0"
  virtual Error GetPciBusId(int device, std::string* id) = 0;
  // For this thread, for calls that name no stream.
  virtual Error SetDevice(int device) = 0;

  virtual Error MemGetInfo(size_t* free_bytes, size_t* total_bytes) = 0;
  virtual Error Malloc(void** memory, size_t bytes) = 0;
  virtual Error Free(void* memory) = 0;
  // Pinned; kernels read it at the same address.
  virtual Error HostAlloc(void** memory, size_t bytes) = 0;
  virtual Error FreeHost(void* memory) = 0;

  // A non-blocking stream: it does not wait for the default stream.
  virtual Error StreamCreate(Stream* stream) = 0;
  virtual Error StreamDestroy(Stream stream) = 0;
  virtual Error StreamSynchronize(Stream stream) = 0;
  virtual Error StreamWaitEvent(Stream stream, Event event) = 0;
  // Calls `work` with `data` in stream order, from a thread of the runtime.
  virtual Error LaunchHostFunc(Stream stream, void (*work)(void*),
                               void* data) = 0;
  virtual Error MemcpyAsync(void* to, const void* from, size_t bytes, Copy copy,
                            Stream stream) = 0;

  // Restricts only this thread: other threads may make calls that a capture
  // forbids.
  virtual Error StreamBeginCapture(Stream stream) = 0;
  virtual Error StreamEndCapture(Stream stream, Graph* graph) = 0;
  virtual Error GraphInstantiate(GraphExec* exec, Graph graph) = 0;
  virtual Error GraphDestroy(Graph graph) = 0;
  virtual Error GraphLaunch(GraphExec exec, Stream stream) = 0;
  virtual Error GraphExecDestroy(GraphExec exec) = 0;

  // NVTX ranges of this thread.
  virtual void RangePush(const char* name) = 0;
  virtual void RangePop() = 0;

  virtual Error EventCreate(Event* event, bool timing) = 0;
  virtual Error EventDestroy(Event event) = 0;
  virtual Error EventRecord(Event event, Stream stream) = 0;
  virtual Error EventSynchronize(Event event) = 0;
  virtual Error EventElapsedTime(float* milliseconds, Event begin,
                                 Event end) = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_API_H_
