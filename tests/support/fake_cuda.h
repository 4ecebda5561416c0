// A CUDA runtime on the CPU: its streams and events are those of the cpu
// backend (executor/device/cpu/cpu_stream.h); its device memory is the host's,
// within a size that the test sets. Captured streams follow CUDA's rules
// (fake_graph.h). Any call can be made to fail.
#ifndef SPILLWAY_TESTS_SUPPORT_FAKE_CUDA_H_
#define SPILLWAY_TESTS_SUPPORT_FAKE_CUDA_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "executor/device/cpu/link.h"
#include "executor/device/cuda/cuda_api.h"
#include "executor/device/stream.h"
#include "tests/support/fake_graph.h"

namespace spillway::testing {

class FakeCuda final : public CudaApi {
 public:
  explicit FakeCuda(int devices = 1, size_t device_bytes = size_t{1} << 30)
      : devices_(devices), device_bytes_(device_bytes) {}
  // CHECKs that all resources were released.
  ~FakeCuda() override;

  // Makes calls of this name ("cudaMalloc") fail from now on; 0: succeed again.
  void Fail(const std::string& call, Error error);

  // Runs `work` in stream order, as a kernel would run.
  void Submit(Stream stream, std::function<void()> work);

  // The ranges so far; CHECKs that all have ended.
  std::vector<std::string> ranges() const;

  // Number of copies to the device from memory that HostAlloc did not allocate.
  int pageable_copies_to_device() const;

  // Number of calls of this name so far.
  int calls(const std::string& call) const;

  std::string ErrorText(Error error) const override;
  Error GetDeviceCount(int* count) override;
  Error GetDeviceName(int device, std::string* name) override;
  Error GetPciBusId(int device, std::string* id) override;
  Error SetDevice(int device) override;
  Error MemGetInfo(size_t* free_bytes, size_t* total_bytes) override;
  Error Malloc(void** memory, size_t bytes) override;
  Error Free(void* memory) override;
  Error HostAlloc(void** memory, size_t bytes) override;
  Error FreeHost(void* memory) override;
  Error StreamCreate(Stream* stream) override;
  Error StreamDestroy(Stream stream) override;
  Error StreamSynchronize(Stream stream) override;
  Error StreamWaitEvent(Stream stream, Event event) override;
  Error LaunchHostFunc(Stream stream, void (*work)(void*), void* data) override;
  Error MemcpyAsync(void* to, const void* from, size_t bytes, Copy copy,
                    Stream stream) override;
  Error StreamBeginCapture(Stream stream) override;
  Error StreamEndCapture(Stream stream, Graph* graph) override;
  Error GraphInstantiate(GraphExec* exec, Graph graph) override;
  Error GraphDestroy(Graph graph) override;
  Error GraphLaunch(GraphExec exec, Stream stream) override;
  Error GraphExecDestroy(GraphExec exec) override;
  void RangePush(const char* name) override;
  void RangePop() override;
  Error EventCreate(Event* event, bool timing) override;
  Error EventDestroy(Event event) override;
  Error EventRecord(Event event, Stream stream) override;
  Error EventSynchronize(Event event) override;
  Error EventElapsedTime(float* milliseconds, Event begin, Event end) override;

 private:
  static constexpr Error kInvalidValue = 1;

  // Where an event was recorded last.
  struct Mark {
    Stream stream = nullptr;
    int capture = 0;  // its number; 0: in none
    FakeGraph::Nodes nodes = {};
  };

  // mutex_ must be held.
  bool IsPinned(const void* memory) const;
  // Whether the stream belongs to the capture; mutex_ must be held.
  bool IsCaptured(Stream stream) const;
  // The error of a call that this thread must not make during its capture.
  Error NotInCapture();
  // Counts the call and returns the error with which it should fail.
  Error Called(const std::string& call) const;
  Error Allocate(void** memory, size_t bytes, std::map<void*, size_t>& live);
  Error Release(void* memory, std::map<void*, size_t>& live);

  const int devices_;
  const size_t device_bytes_;
  Link link_{0};
  mutable std::mutex mutex_;
  std::map<std::string, Error> failures_;
  mutable std::map<std::string, int> calls_;
  int pageable_copies_to_device_ = 0;
  std::vector<std::string> ranges_;
  int open_ranges_ = 0;
  std::map<void*, size_t> device_memory_;
  std::map<void*, size_t> host_memory_;
  // By stream: its kernels since the last synchronisation.
  std::map<void*, std::vector<std::unique_ptr<StreamTask>>> streams_;
  std::map<void*, Mark> events_;
  std::unique_ptr<FakeCapture> capture_;  // the current one, of one thread
  std::thread::id capture_thread_;
  int captures_ = 0;  // begun so far
  std::map<void*, std::shared_ptr<const FakeGraph>> graphs_;
  std::map<void*, std::shared_ptr<const FakeGraph>> graph_execs_;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_FAKE_CUDA_H_
