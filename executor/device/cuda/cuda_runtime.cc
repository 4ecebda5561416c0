#include "executor/device/cuda/cuda_runtime.h"

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

namespace spillway {
namespace {

static_assert(CudaApi::kMemoryAllocation == cudaErrorMemoryAllocation);
static_assert(CudaApi::kInsufficientDriver == cudaErrorInsufficientDriver);
static_assert(CudaApi::kNoDevice == cudaErrorNoDevice);

cudaStream_t ToStream(CudaApi::Stream stream) {
  return static_cast<cudaStream_t>(stream);
}
cudaEvent_t ToEvent(CudaApi::Event event) {
  return static_cast<cudaEvent_t>(event);
}

class Runtime final : public CudaApi {
 public:
  std::string ErrorText(Error error) const override {
    return cudaGetErrorString(static_cast<cudaError_t>(error));
  }

  Error GetDeviceCount(int* count) override {
    return Done(cudaGetDeviceCount(count));
  }
  Error GetDeviceName(int device, std::string* name) override {
    cudaDeviceProp properties = {};
    const cudaError_t error = cudaGetDeviceProperties(&properties, device);
    *name = properties.name;
    return Done(error);
  }
  Error GetPciBusId(int device, std::string* id) override {
    char text[32] = "";
    const cudaError_t error = cudaDeviceGetPCIBusId(text, sizeof(text), device);
    *id = text;
    return Done(error);
  }
  Error SetDevice(int device) override { return Done(cudaSetDevice(device)); }

  Error MemGetInfo(size_t* free_bytes, size_t* total_bytes) override {
    return Done(cudaMemGetInfo(free_bytes, total_bytes));
  }
  Error Malloc(void** memory, size_t bytes) override {
    return Done(cudaMalloc(memory, bytes));
  }
  Error Free(void* memory) override { return Done(cudaFree(memory)); }
  Error HostAlloc(void** memory, size_t bytes) override {
    return Done(cudaHostAlloc(memory, bytes, cudaHostAllocDefault));
  }
  Error FreeHost(void* memory) override { return Done(cudaFreeHost(memory)); }

  Error StreamCreate(Stream* stream) override {
    cudaStream_t made = nullptr;
    const cudaError_t error =
        cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    *stream = made;
    return Done(error);
  }
  Error StreamDestroy(Stream stream) override {
    return Done(cudaStreamDestroy(ToStream(stream)));
  }
  Error StreamSynchronize(Stream stream) override {
    return Done(cudaStreamSynchronize(ToStream(stream)));
  }
  Error StreamWaitEvent(Stream stream, Event event) override {
    return Done(cudaStreamWaitEvent(ToStream(stream), ToEvent(event), 0));
  }
  Error LaunchHostFunc(Stream stream, void (*work)(void*),
                       void* data) override {
    return Done(cudaLaunchHostFunc(ToStream(stream), work, data));
  }
  Error MemcpyAsync(void* to, const void* from, size_t bytes, Copy copy,
                    Stream stream) override {
    return Done(cudaMemcpyAsync(
        to, from, bytes,
        copy == Copy::kToHost ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice,
        ToStream(stream)));
  }

  Error StreamBeginCapture(Stream stream) override {
    return Done(cudaStreamBeginCapture(ToStream(stream),
                                       cudaStreamCaptureModeThreadLocal));
  }
  Error StreamEndCapture(Stream stream, Graph* graph) override {
    cudaGraph_t captured = nullptr;
    const cudaError_t error = cudaStreamEndCapture(ToStream(stream), &captured);
    *graph = captured;
    return Done(error);
  }
  Error GraphInstantiate(GraphExec* exec, Graph graph) override {
    cudaGraphExec_t made = nullptr;
    const cudaError_t error =
        cudaGraphInstantiate(&made, static_cast<cudaGraph_t>(graph), 0);
    *exec = made;
    return Done(error);
  }
  Error GraphDestroy(Graph graph) override {
    return Done(cudaGraphDestroy(static_cast<cudaGraph_t>(graph)));
  }
  Error GraphLaunch(GraphExec exec, Stream stream) override {
    return Done(
        cudaGraphLaunch(static_cast<cudaGraphExec_t>(exec), ToStream(stream)));
  }
  Error GraphExecDestroy(GraphExec exec) override {
    return Done(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(exec)));
  }

  void RangePush(const char* name) override { nvtxRangePushA(name); }
  void RangePop() override { nvtxRangePop(); }

  Error EventCreate(Event* event, bool timing) override {
    cudaEvent_t made = nullptr;
    const cudaError_t error = cudaEventCreateWithFlags(
        &made, timing ? cudaEventDefault : cudaEventDisableTiming);
    *event = made;
    return Done(error);
  }
  Error EventDestroy(Event event) override {
    return Done(cudaEventDestroy(ToEvent(event)));
  }
  Error EventRecord(Event event, Stream stream) override {
    return Done(cudaEventRecord(ToEvent(event), ToStream(stream)));
  }
  Error EventSynchronize(Event event) override {
    return Done(cudaEventSynchronize(ToEvent(event)));
  }
  Error EventElapsedTime(float* milliseconds, Event begin, Event end) override {
    return Done(
        cudaEventElapsedTime(milliseconds, ToEvent(begin), ToEvent(end)));
  }

 private:
  // The runtime also stores the error for the next cudaGetLastError, which
  // would blame an unrelated kernel launch. So clear it.
  static Error Done(cudaError_t error) {
    if (error != cudaSuccess) cudaGetLastError();
    return static_cast<Error>(error);
  }
};

}  // namespace

CudaApi& CudaRuntime() {
  static Runtime runtime;
  return runtime;
}

}  // namespace spillway
