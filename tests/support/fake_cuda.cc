#include "tests/support/fake_cuda.h"

#include <cstdlib>
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
  CHECK(device_memory_.empty() && host_memory_.empty());
  CHECK(streams_.empty() && events_.empty());
}

void FakeCuda::Submit(Stream stream, std::function<void()> work) {
  auto task = std::make_unique<Work>(std::move(work));
  CHECK(ToStream(stream).Submit(task.get()).ok());
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

FakeCuda::Error FakeCuda::Called(const std::string& call) const {
  const std::scoped_lock lock(mutex_);
  ++calls_[call];
  const auto failure = failures_.find(call);
  return failure == failures_.end() ? 0 : failure->second;
}

std::string FakeCuda::ErrorText(Error error) const {
  return error == kMemoryAllocation ? "out of memory"
         : error == kNoDevice       ? "no CUDA-capable device is detected"
                                    : "planted";
}

FakeCuda::Error FakeCuda::GetDeviceCount(int* count) {
  *count = devices_;
  return Called("cudaGetDeviceCount");
}

FakeCuda::Error FakeCuda::GetPciBusId(int /*device*/, std::string* id) {
  *id = "no such device";
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
  CHECK(live.erase(memory) == 1);
  std::free(memory);
  return 0;
}

FakeCuda::Error FakeCuda::Malloc(void** memory, size_t bytes) {
  const Error error = Called("cudaMalloc");
  return error != 0 ? error : Allocate(memory, bytes, device_memory_);
}
FakeCuda::Error FakeCuda::Free(void* memory) {
  const Error error = Called("cudaFree");
  const Error released = Release(memory, device_memory_);
  return error != 0 ? error : released;
}
FakeCuda::Error FakeCuda::HostAlloc(void** memory, size_t bytes) {
  const Error error = Called("cudaHostAlloc");
  return error != 0 ? error : Allocate(memory, bytes, host_memory_);
}
FakeCuda::Error FakeCuda::FreeHost(void* memory) {
  const Error error = Called("cudaFreeHost");
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
  CHECK(streams_.erase(stream) == 1);
  return error;
}

FakeCuda::Error FakeCuda::StreamSynchronize(Stream stream) {
  CHECK(ToStream(stream).Synchronize().ok());
  {
    const std::scoped_lock lock(mutex_);
    streams_[stream].clear();
  }
  return Called("cudaStreamSynchronize");
}

FakeCuda::Error FakeCuda::StreamWaitEvent(Stream stream, Event event) {
  CHECK(ToStream(stream).Wait(&ToEvent(event)).ok());
  return Called("cudaStreamWaitEvent");
}

FakeCuda::Error FakeCuda::MemcpyAsync(void* to, const void* from, size_t bytes,
                                      Copy copy, Stream stream) {
  if (const Error error = Called("cudaMemcpyAsync")) return error;
  const auto size = static_cast<int64_t>(bytes);
  const absl::Status queued =
      copy == Copy::kToHost ? ToStream(stream).CopyToHost(to, from, size)
                            : ToStream(stream).CopyToDevice(to, from, size);
  CHECK(queued.ok());
  return 0;
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
  CHECK(open_ranges_ == 0);
  return ranges_;
}

FakeCuda::Error FakeCuda::EventCreate(Event* event, bool timing) {
  if (const Error error = Called("cudaEventCreate")) return error;
  *event = new CpuEvent(timing);
  const std::scoped_lock lock(mutex_);
  events_[*event] = nullptr;
  return 0;
}

FakeCuda::Error FakeCuda::EventDestroy(Event event) {
  const Error error = Called("cudaEventDestroy");
  delete static_cast<CpuEvent*>(event);
  const std::scoped_lock lock(mutex_);
  CHECK(events_.erase(event) == 1);
  return error;
}

FakeCuda::Error FakeCuda::EventRecord(Event event, Stream stream) {
  CHECK(ToStream(stream).Record(&ToEvent(event)).ok());
  const Error error = Called("cudaEventRecord");
  const std::scoped_lock lock(mutex_);
  events_[event] = stream;
  return error;
}

FakeCuda::Error FakeCuda::EventSynchronize(Event event) {
  const Error error = Called("cudaEventSynchronize");
  Stream stream = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    stream = events_[event];
  }
  // More than is asked for, and enough.
  if (stream != nullptr) CHECK(ToStream(stream).Synchronize().ok());
  return error;
}

FakeCuda::Error FakeCuda::EventElapsedTime(float* milliseconds, Event begin,
                                           Event end) {
  const int64_t ns = ToEvent(end).TimeNs() - ToEvent(begin).TimeNs();
  *milliseconds = static_cast<float>(static_cast<double>(ns) * 1e-6);
  return Called("cudaEventElapsedTime");
}

}  // namespace spillway::testing
