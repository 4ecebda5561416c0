#include "executor/device/cuda/cuda_stream.h"

#include <omp.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "executor/device/cuda/cuda_status.h"

namespace spillway {
namespace {

class CudaEvent final : public Event {
 public:
  CudaEvent(CudaApi& api, CudaApi::Event event, CudaClock* clock)
      : api_(api), event_(event), clock_(clock) {}
  ~CudaEvent() override {
    LogCudaFailure(api_, api_.EventDestroy(event_), "cudaEventDestroy");
  }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  absl::Status Record(CudaApi::Stream stream) {
    if (clock_ != nullptr) {
      SPILLWAY_ASSIGN_OR_RETURN(zero_, clock_->ZeroFor(stream));
    }
    return CudaStatus(api_, api_.EventRecord(event_, stream),
                      "cudaEventRecord");
  }
  absl::Status MakeWait(CudaApi::Stream stream) {
    return CudaStatus(api_, api_.StreamWaitEvent(stream, event_),
                      "cudaStreamWaitEvent");
  }

  int64_t TimeNs() const override {
    SPILLWAY_CHECK(clock_ != nullptr);
    return zero_ == nullptr ? 0 : zero_->TimeNsOf(event_);
  }

 private:
  CudaApi& api_;
  const CudaApi::Event event_;
  CudaClock* const clock_;  // null: without timing
  std::shared_ptr<const CudaClock::Zero> zero_;
};

class CudaGraph final : public CapturedWork {
 public:
  CudaGraph(CudaApi& api, CudaApi::GraphExec exec) : api_(api), exec_(exec) {}
  ~CudaGraph() override {
    LogCudaFailure(api_, api_.GraphExecDestroy(exec_), "cudaGraphExecDestroy");
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  absl::Status Launch(CudaApi::Stream stream) {
    return CudaStatus(api_, api_.GraphLaunch(exec_, stream), "cudaGraphLaunch");
  }

 private:
  CudaApi& api_;
  const CudaApi::GraphExec exec_;
};

// Runs tasks on a thread of the runtime, and keeps their first error.
class HostCalls {
 public:
  explicit HostCalls(int threads) : threads_(threads) {}

  absl::Status Launch(CudaApi& api, CudaApi::Stream stream, StreamTask* task) {
    // A captured task is called again by each launch, so its data stays.
    std::unique_ptr<Call>& call = calls_[task];
    if (call == nullptr) call = std::make_unique<Call>(Call{this, task});
    return CudaStatus(api, api.LaunchHostFunc(stream, Run, call.get()),
                      "cudaLaunchHostFunc");
  }

  // Returns and clears the first error. Called while no task runs.
  absl::Status TakeError() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(error_, absl::OkStatus());
  }

 private:
  struct Call {
    HostCalls* calls = nullptr;
    StreamTask* task = nullptr;
  };

  static void Run(void* data) {
    const Call& call = *static_cast<const Call*>(data);
    HostCalls& calls = *call.calls;
    {
      const std::scoped_lock lock(calls.mutex_);
      if (!calls.error_.ok()) return;
    }
    omp_set_num_threads(calls.threads_);
    absl::Status status = call.task->Run(nullptr);
    const std::scoped_lock lock(calls.mutex_);
    calls.error_ = std::move(status);
  }

  const int threads_;
  std::map<StreamTask*, std::unique_ptr<Call>> calls_;
  std::mutex mutex_;
  absl::Status error_;
};

class CudaStream final : public Stream {
 public:
  CudaStream(CudaApi& api, int device, int host_threads, CudaApi::Stream stream)
      : api_(api),
        device_(device),
        stream_(stream),
        host_calls_(host_threads) {}
  ~CudaStream() override {
    LogCudaFailure(api_, api_.StreamSynchronize(stream_),
                   "cudaStreamSynchronize");
    LogCudaFailure(api_, api_.StreamDestroy(stream_), "cudaStreamDestroy");
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  absl::Status Submit(StreamTask* task) override {
    if (!error_.ok()) return absl::OkStatus();
    SPILLWAY_RETURN_IF_ERROR(
        CudaStatus(api_, api_.SetDevice(device_), "cudaSetDevice"));
    error_ = task->Run(stream_);
    return absl::OkStatus();
  }
  absl::Status SubmitOnHost(StreamTask* task) override {
    if (!error_.ok()) return absl::OkStatus();
    return host_calls_.Launch(api_, stream_, task);
  }
  absl::Status CopyToHost(void* host, const void* device,
                          int64_t bytes) override {
    return Copy(host, device, bytes, CudaApi::Copy::kToHost);
  }
  absl::Status CopyToDevice(void* device, const void* host,
                            int64_t bytes) override {
    return Copy(device, host, bytes, CudaApi::Copy::kToDevice);
  }
  void BeginRange(const char* name) override { api_.RangePush(name); }
  void EndRange() override { api_.RangePop(); }
  absl::Status Record(Event* event) override {
    return static_cast<CudaEvent*>(event)->Record(stream_);
  }
  absl::Status Wait(Event* event) override {
    return static_cast<CudaEvent*>(event)->MakeWait(stream_);
  }
  absl::Status BeginCapture() override {
    return CudaStatus(api_, api_.StreamBeginCapture(stream_),
                      "cudaStreamBeginCapture");
  }
  absl::StatusOr<std::unique_ptr<CapturedWork>> EndCapture() override {
    CudaApi::Graph graph = nullptr;
    SPILLWAY_RETURN_IF_ERROR(CudaStatus(
        api_, api_.StreamEndCapture(stream_, &graph), "cudaStreamEndCapture"));
    CudaApi::GraphExec exec = nullptr;
    const absl::Status made = CudaStatus(
        api_, api_.GraphInstantiate(&exec, graph), "cudaGraphInstantiate");
    LogCudaFailure(api_, api_.GraphDestroy(graph), "cudaGraphDestroy");
    SPILLWAY_RETURN_IF_ERROR(made);
    return std::make_unique<CudaGraph>(api_, exec);
  }
  absl::Status Launch(CapturedWork& work) override {
    if (!error_.ok()) return absl::OkStatus();
    return static_cast<CudaGraph&>(work).Launch(stream_);
  }
  absl::Status Synchronize() override {
    const absl::Status done = CudaStatus(api_, api_.StreamSynchronize(stream_),
                                         "cudaStreamSynchronize");
    absl::Status error = std::exchange(error_, absl::OkStatus());
    error.Update(host_calls_.TakeError());
    return error.ok() ? done : error;
  }

 private:
  absl::Status Copy(void* to, const void* from, int64_t bytes,
                    CudaApi::Copy copy) {
    if (!error_.ok() || bytes == 0) return absl::OkStatus();
    return CudaStatus(
        api_,
        api_.MemcpyAsync(to, from, static_cast<size_t>(bytes), copy, stream_),
        "cudaMemcpyAsync");
  }

  CudaApi& api_;
  const int device_;
  const CudaApi::Stream stream_;
  absl::Status error_;  // the first error of a task since the last Synchronize
  HostCalls host_calls_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Stream>> NewCudaStream(CudaApi& api, int device,
                                                      int host_threads) {
  CudaApi::Stream stream = nullptr;
  SPILLWAY_RETURN_IF_ERROR(
      CudaStatus(api, api.StreamCreate(&stream), "cudaStreamCreate"));
  return std::make_unique<CudaStream>(api, device, host_threads, stream);
}

absl::StatusOr<std::unique_ptr<Event>> NewCudaEvent(CudaApi& api,
                                                    CudaClock* clock) {
  CudaApi::Event event = nullptr;
  SPILLWAY_RETURN_IF_ERROR(CudaStatus(
      api, api.EventCreate(&event, clock != nullptr), "cudaEventCreate"));
  return std::make_unique<CudaEvent>(api, event, clock);
}

}  // namespace spillway
