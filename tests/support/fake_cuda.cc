#include "tests/support/fake_cuda.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "executor/device/cpu/cpu_stream.h"

namespace spillway::testing {
namespace {

CpuStream& ToStream(CudaApi::Stream stream) {
  return *static_cast<CpuStream*>(stream);
}
CpuEvent& ToEvent(CudaApi::Event event) {
  return *static_cast<CpuEvent*>(event);
}

class Work final : public StreamTask {
 public:
  explicit Work(std::function<void()> work) : work_(std::move(work)) {}
  absl::Status Run(void*) override {
    work_();
    return absl::OkStatus();
  }

 private:
  const std::function<void()> work_;
};

}  // namespace

FakeCuda::~FakeCuda() {
  SPILLWAY_CHECK(device_memory_.empty() && host_memory_.empty());
  SPILLWAY_CHECK(streams_.empty() && events_.empty());
  SPILLWAY_CHECK(graphs_.empty() && graph_execs_.empty());
}

void FakeCuda::Submit(Stream stream, std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    if (IsCaptured(stream)) {
      capture_->Add(stream, std::move(work));
      return;
    }
  }
  auto task = std::make_unique<Work>(std::move(work));
  SPILLWAY_CHECK(ToStream(stream).Submit(task.get()).ok());
  const std::scoped_lock lock(mutex_);
  streams_[stream].push_back(std::move(task));
}

void FakeCuda::Fail(const std::string& call, Error error) {
  const std::scoped_lock lock(mutex_);
  failures_[call] = error;
}

int FakeCuda::calls(const std::string& call) const {
  const std::scoped_lock lock(mutex_);
  return calls_[call];
}

bool FakeCuda::IsCaptured(Stream stream) const {
  return capture_ != nullptr && capture_->has(stream);
}

FakeCuda::Error FakeCuda::NotInCapture() {
  const std::scoped_lock lock(mutex_);
  const bool is_captured =
      capture_ != nullptr && capture_thread_ == std::this_thread::get_id();
  return is_captured ? capture_->Spoil(FakeCapture::kUnsupported) : 0;
}

FakeCuda::Error FakeCuda::Called(const std::string& call) const {
  const std::scoped_lock lock(mutex_);
  ++calls_[call];
  const auto failure = failures_.find(call);
  return failure == failures_.end() ? 0 : failure->second;
}

std::string FakeCuda::ErrorText(Error error) const {
  return error == kMemoryAllocation ? "out of memory"
         : error == kNoDevice       ? "no CUDA-capable device is detected"
         : error >= FakeCapture::kUnsupported ? "against the rules of capture"
                                              : "planted";
}

FakeCuda::Error FakeCuda::GetDeviceCount(int* count) {
  *count = devices_;
  return Called("cudaGetDeviceCount");
}

FakeCuda::Error FakeCuda::GetDeviceName(int /*device*/, std::string* name) {
  *name = "fake GPU";
  return Called("cudaGetDeviceProperties");
}

FakeCuda::Error FakeCuda::GetPciBusId(int device, std::string* id) {
  *id = "no such device " + std::to_string(device);
  return Called("cudaDeviceGetPCIBusId");
}

FakeCuda::Error FakeCuda::SetDevice(int device) {
  return device < devices_ ? Called("cudaSetDevice") : kInvalidValue;
}

FakeCuda::Error FakeCuda::MemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  const Error error = Called("cudaMemGetInfo");
  const std::scoped_lock lock(mutex_);
  size_t live = 0;
  for (const auto& [memory, bytes] : device_memory_) live += bytes;
  *free_bytes = device_bytes_ - live;
  *total_bytes = device_bytes_;
  return error;
}

FakeCuda::Error FakeCuda::Allocate(void** memory, size_t bytes,
                                   std::map<void*, size_t>& live) {
  const auto size =
      static_cast<size_t>(AlignUp(static_cast<int64_t>(bytes), 256));
  *memory = std::aligned_alloc(256, size);
  if (*memory == nullptr) return kMemoryAllocation;
  const std::scoped_lock lock(mutex_);
  live[*memory] = bytes;
  return 0;
}

FakeCuda::Error FakeCuda::Release(void* memory, std::map<void*, size_t>& live) {
  const std::scoped_lock lock(mutex_);
  SPILLWAY_CHECK(live.erase(memory) == 1);
  std::free(memory);
  return 0;
}

FakeCuda::Error FakeCuda::Malloc(void** memory, size_t bytes) {
  Error error = Called("cudaMalloc");
  if (error == 0) error = NotInCapture();
  return error != 0 ? error : Allocate(memory, bytes, device_memory_);
}
FakeCuda::Error FakeCuda::Free(void* memory) {
  Error error = Called("cudaFree");
  if (error == 0) error = NotInCapture();
  const Error released = Release(memory, device_memory_);
  return error != 0 ? error : released;
}
FakeCuda::Error FakeCuda::HostAlloc(void** memory, size_t bytes) {
  Error error = Called("cudaHostAlloc");
  if (error == 0) error = NotInCapture();
  return error != 0 ? error : Allocate(memory, bytes, host_memory_);
}
FakeCuda::Error FakeCuda::FreeHost(void* memory) {
  Error error = Called("cudaFreeHost");
  if (error == 0) error = NotInCapture();
  const Error released = Release(memory, host_memory_);
  return error != 0 ? error : released;
}

FakeCuda::Error FakeCuda::StreamCreate(Stream* stream) {
  if (const Error error = Called("cudaStreamCreate")) return error;
  *stream = new CpuStream(
      {.name = "fake", .threads = 1, .to_host = &link_, .to_device = &link_});
  const std::scoped_lock lock(mutex_);
  streams_[*stream].clear();
  return 0;
}

FakeCuda::Error FakeCuda::StreamDestroy(Stream stream) {
  const Error error = Called("cudaStreamDestroy");
  delete static_cast<CpuStream*>(stream);
  const std::scoped_lock lock(mutex_);
  SPILLWAY_CHECK(streams_.erase(stream) == 1);
  return error;
}

FakeCuda::Error FakeCuda::StreamSynchronize(Stream stream) {
  {
    const std::scoped_lock lock(mutex_);
    if (IsCaptured(stream)) return capture_->Spoil(FakeCapture::kUnsupported);
  }
  SPILLWAY_CHECK(ToStream(stream).Synchronize().ok());
  {
    const std::scoped_lock lock(mutex_);
    streams_[stream].clear();
  }
  return Called("cudaStreamSynchronize");
}

FakeCuda::Error FakeCuda::StreamWaitEvent(Stream stream, Event event) {
  const Error error = Called("cudaStreamWaitEvent");
  {
    const std::scoped_lock lock(mutex_);
    const Mark& mark = events_.at(event);
    if (capture_ != nullptr && mark.capture == captures_) {
      return error != 0 ? error : capture_->Wait(stream, mark.nodes);
    }
    if (IsCaptured(stream)) return capture_->Spoil(FakeCapture::kIsolation);
    if (mark.capture != 0) return FakeCapture::kCapturedEvent;
  }
  SPILLWAY_CHECK(ToStream(stream).Wait(&ToEvent(event)).ok());
  return error;
}

int FakeCuda::pageable_copies_to_device() const {
  const std::scoped_lock lock(mutex_);
  return pageable_copies_to_device_;
}

bool FakeCuda::IsPinned(const void* memory) const {
  auto after = host_memory_.upper_bound(const_cast<void*>(memory));
  if (after == host_memory_.begin()) return false;
  const auto& [begin, bytes] = *--after;
  return static_cast<const std::byte*>(memory) <
         static_cast<const std::byte*>(begin) + bytes;
}

FakeCuda::Error FakeCuda::LaunchHostFunc(Stream stream, void (*work)(void*),
                                         void* data) {
  if (const Error error = Called("cudaLaunchHostFunc")) return error;
  Submit(stream, [=] { work(data); });
  return 0;
}

FakeCuda::Error FakeCuda::MemcpyAsync(void* to, const void* from, size_t bytes,
                                      Copy copy, Stream stream) {
  if (const Error error = Called("cudaMemcpyAsync")) return error;
  {
    const std::scoped_lock lock(mutex_);
    if (copy == Copy::kToDevice && !IsPinned(from)) {
      ++pageable_copies_to_device_;
    }
    if (IsCaptured(stream)) {
      return capture_->Add(stream, [=] { std::memcpy(to, from, bytes); });
    }
  }
  const auto size = static_cast<int64_t>(bytes);
  const absl::Status queued =
      copy == Copy::kToHost ? ToStream(stream).CopyToHost(to, from, size)
                            : ToStream(stream).CopyToDevice(to, from, size);
  SPILLWAY_CHECK(queued.ok());
  return 0;
}

FakeCuda::Error FakeCuda::StreamBeginCapture(Stream stream) {
  if (const Error error = Called("cudaStreamBeginCapture")) return error;
  const std::scoped_lock lock(mutex_);
  if (capture_ != nullptr) return capture_->Spoil(FakeCapture::kUnsupported);
  capture_ = std::make_unique<FakeCapture>(stream);
  capture_thread_ = std::this_thread::get_id();
  ++captures_;
  return 0;
}

FakeCuda::Error FakeCuda::StreamEndCapture(Stream stream, Graph* graph) {
  const Error error = Called("cudaStreamEndCapture");
  const std::scoped_lock lock(mutex_);
  if (capture_ == nullptr) return kInvalidValue;
  std::unique_ptr<FakeGraph> captured;
  const Error ended = capture_->End(stream, &captured);
  if (ended != FakeCapture::kUnmatched) capture_ = nullptr;
  if (error != 0 || ended != 0) return error != 0 ? error : ended;
  *graph = captured.get();
  graphs_[*graph] = std::move(captured);
  return 0;
}

FakeCuda::Error FakeCuda::GraphInstantiate(GraphExec* exec, Graph graph) {
  if (const Error error = Called("cudaGraphInstantiate")) return error;
  const std::scoped_lock lock(mutex_);
  *exec = new std::byte;
  graph_execs_[*exec] = graphs_.at(graph);
  return 0;
}

FakeCuda::Error FakeCuda::GraphDestroy(Graph graph) {
  const Error error = Called("cudaGraphDestroy");
  const std::scoped_lock lock(mutex_);
  SPILLWAY_CHECK(graphs_.erase(graph) == 1);
  return error;
}

FakeCuda::Error FakeCuda::GraphLaunch(GraphExec exec, Stream stream) {
  if (const Error error = Called("cudaGraphLaunch")) return error;
  std::shared_ptr<const FakeGraph> graph;
  {
    const std::scoped_lock lock(mutex_);
    if (IsCaptured(stream)) return capture_->Spoil(FakeCapture::kUnsupported);
    graph = graph_execs_.at(exec);
  }
  Submit(stream, [graph = std::move(graph)] { graph->Run(); });
  return 0;
}

FakeCuda::Error FakeCuda::GraphExecDestroy(GraphExec exec) {
  const Error error = Called("cudaGraphExecDestroy");
  const std::scoped_lock lock(mutex_);
  SPILLWAY_CHECK(graph_execs_.erase(exec) == 1);
  delete static_cast<std::byte*>(exec);
  return error;
}

void FakeCuda::RangePush(const char* name) {
  const std::scoped_lock lock(mutex_);
  ranges_.emplace_back(name);
  ++open_ranges_;
}

void FakeCuda::RangePop() {
  const std::scoped_lock lock(mutex_);
  --open_ranges_;
}

std::vector<std::string> FakeCuda::ranges() const {
  const std::scoped_lock lock(mutex_);
  SPILLWAY_CHECK(open_ranges_ == 0);
  return ranges_;
}

FakeCuda::Error FakeCuda::EventCreate(Event* event, bool timing) {
  if (const Error error = Called("cudaEventCreate")) return error;
  *event = new CpuEvent(timing);
  const std::scoped_lock lock(mutex_);
  events_[*event] = {};
  return 0;
}

FakeCuda::Error FakeCuda::EventDestroy(Event event) {
  const Error error = Called("cudaEventDestroy");
  delete static_cast<CpuEvent*>(event);
  const std::scoped_lock lock(mutex_);
  SPILLWAY_CHECK(events_.erase(event) == 1);
  return error;
}

FakeCuda::Error FakeCuda::EventRecord(Event event, Stream stream) {
  const Error error = Called("cudaEventRecord");
  {
    const std::scoped_lock lock(mutex_);
    Mark& mark = events_.at(event);
    mark = {.stream = stream};
    if (IsCaptured(stream)) {
      mark.capture = captures_;
      return error != 0 ? error : capture_->Record(stream, &mark.nodes);
    }
  }
  SPILLWAY_CHECK(ToStream(stream).Record(&ToEvent(event)).ok());
  return error;
}

FakeCuda::Error FakeCuda::EventSynchronize(Event event) {
  const Error error = Called("cudaEventSynchronize");
  Stream stream = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    const Mark& mark = events_.at(event);
    if (mark.capture != 0) return FakeCapture::kCapturedEvent;
    stream = mark.stream;
  }
  // Waits for more than necessary, which is harmless.
  if (stream != nullptr) SPILLWAY_CHECK(ToStream(stream).Synchronize().ok());
  return error;
}

FakeCuda::Error FakeCuda::EventElapsedTime(float* milliseconds, Event begin,
                                           Event end) {
  const int64_t ns = ToEvent(end).TimeNs() - ToEvent(begin).TimeNs();
  *milliseconds = static_cast<float>(static_cast<double>(ns) * 1e-6);
  return Called("cudaEventElapsedTime");
}

}  // namespace spillway::testing
