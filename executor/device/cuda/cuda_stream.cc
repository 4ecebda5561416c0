#include "executor/device/cuda/cuda_stream.h"

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

class CudaStream final : public Stream {
 public:
  CudaStream(CudaApi& api, int device, CudaApi::Stream stream)
      : api_(api), device_(device), stream_(stream) {}
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
    const absl::Status error = std::exchange(error_, absl::OkStatus());
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
};

}  // namespace

absl::StatusOr<std::unique_ptr<Stream>> NewCudaStream(CudaApi& api,
                                                      int device) {
  CudaApi::Stream stream = nullptr;
  SPILLWAY_RETURN_IF_ERROR(
      CudaStatus(api, api.StreamCreate(&stream), "cudaStreamCreate"));
  return std::make_unique<CudaStream>(api, device, stream);
}

absl::StatusOr<std::unique_ptr<Event>> NewCudaEvent(CudaApi& api,
                                                    CudaClock* clock) {
  CudaApi::Event event = nullptr;
  SPILLWAY_RETURN_IF_ERROR(CudaStatus(
      api, api.EventCreate(&event, clock != nullptr), "cudaEventCreate"));
  return std::make_unique<CudaEvent>(api, event, clock);
}

}  // namespace spillway
