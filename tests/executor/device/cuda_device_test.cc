// The cuda backend on a fake runtime: the calls that it makes, and how it
// handles their errors.
#include "executor/device/cuda/cuda_device.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/units.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::_;
using ::testing::AllOf;
using testing::FakeCuda;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

constexpr CudaApi::Error kLaunchFailure = 719;

class FailingTask final : public StreamTask {
 public:
  absl::Status Run(void*) override { return absl::InternalError("planted"); }
};

TEST(CudaDeviceTest, IsNamedAfterItsIndexAndBecomesTheThreads) {
  FakeCuda cuda(2);
  ASSERT_OK_AND_ASSIGN(const auto device, NewCudaDevice(cuda, 1, {}));
  EXPECT_EQ(device->name(), "cuda:1");
  EXPECT_EQ(device->kind(), DeviceKind::kCuda);
  EXPECT_FALSE(device->host_addressable());
  EXPECT_EQ(cuda.calls("cudaSetDevice"), 1);
}

TEST(CudaDeviceTest, NoGpuIsUnavailableWithTheDriversReason) {
  FakeCuda cuda;
  for (const CudaApi::Error error :
       {CudaApi::kNoDevice, CudaApi::kInsufficientDriver}) {
    cuda.Fail("cudaGetDeviceCount", error);
    EXPECT_THAT(NewCudaDevice(cuda, 0, {}),
                StatusIs(absl::StatusCode::kUnavailable,
                         AllOf(HasSubstr("cudaGetDeviceCount"),
                               HasSubstr(cuda.ErrorText(error)))));
  }
}

TEST(CudaDeviceTest, AGpuThatIsNotThereIsUnavailableWithTheirNumber) {
  FakeCuda one(1);
  FakeCuda none(0);
  EXPECT_THAT(NewCudaDevice(one, 1, {}),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("cuda:1"), HasSubstr("1 GPU"))));
  EXPECT_THAT(NewCudaDevice(none, 0, {}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("0 GPUs")));
}

TEST(CudaDeviceTest, FreeBytesAreReadWhenAskedAndBoundedByTheCapacity) {
  FakeCuda cuda(1, 10_MiB);
  ASSERT_OK_AND_ASSIGN(const auto device,
                       NewCudaDevice(cuda, 0, {.capacity_bytes = 8_MiB}));
  EXPECT_EQ(device->FreeBytes().value(), 8_MiB);
  void* other = nullptr;  // as if of another process
  ASSERT_EQ(cuda.Malloc(&other, 7_MiB), 0);
  EXPECT_EQ(device->FreeBytes().value(), 3_MiB);
  EXPECT_THAT(device->Allocate(MemorySpace::kDevice, 4_MiB),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("3145728 bytes")));
  ASSERT_EQ(cuda.Free(other), 0);
}

// Another process took the memory between the query and the allocation.
TEST(CudaDeviceTest, RefusedAllocationsAreResourceExhausted) {
  FakeCuda cuda;
  ASSERT_OK_AND_ASSIGN(const auto device, NewCudaDevice(cuda, 0, {}));
  cuda.Fail("cudaMalloc", CudaApi::kMemoryAllocation);
  cuda.Fail("cudaHostAlloc", CudaApi::kMemoryAllocation);
  for (const MemorySpace space : {MemorySpace::kDevice, MemorySpace::kHost}) {
    EXPECT_THAT(
        device->Allocate(space, 4096),
        StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("4096")));
  }
}

TEST(CudaDeviceTest, EachFailedCallIsNamed) {
  FakeCuda cuda;
  ASSERT_OK_AND_ASSIGN(const auto device, NewCudaDevice(cuda, 0, {}));
  ASSERT_OK_AND_ASSIGN(const auto memory,
                       device->Allocate(MemorySpace::kDevice, 4096));
  ASSERT_OK_AND_ASSIGN(const auto host,
                       device->Allocate(MemorySpace::kHost, 4096));
  ASSERT_OK_AND_ASSIGN(const auto stream, device->NewStream({}));
  ASSERT_OK_AND_ASSIGN(const auto event, device->NewEvent({}));
  ASSERT_OK_AND_ASSIGN(const auto timing, device->NewEvent({.timing = true}));
  const auto expect_named = [&](const std::string& call, const auto& does) {
    cuda.Fail(call, kLaunchFailure);
    EXPECT_THAT(absl::Status(does()),
                StatusIs(absl::StatusCode::kInternal,
                         AllOf(HasSubstr(call), HasSubstr("719"))));
    cuda.Fail(call, 0);
  };
  expect_named("cudaMalloc", [&] {
    return device->Allocate(MemorySpace::kDevice, 1).status();
  });
  expect_named("cudaHostAlloc", [&] {
    return device->Allocate(MemorySpace::kHost, 1).status();
  });
  expect_named("cudaMemGetInfo", [&] { return device->FreeBytes().status(); });
  expect_named("cudaStreamCreate",
               [&] { return device->NewStream({}).status(); });
  expect_named("cudaEventCreate",
               [&] { return device->NewEvent({}).status(); });
  expect_named("cudaMemcpyAsync", [&] {
    return stream->CopyToHost(host->data(), memory->data(), 4096);
  });
  expect_named("cudaMemcpyAsync", [&] {
    return stream->CopyToDevice(memory->data(), host->data(), 4096);
  });
  expect_named("cudaEventRecord", [&] { return stream->Record(event.get()); });
  expect_named("cudaEventSynchronize",
               [&] { return stream->Record(timing.get()); });
  expect_named("cudaStreamWaitEvent",
               [&] { return stream->Wait(event.get()); });
  expect_named("cudaStreamSynchronize", [&] { return stream->Synchronize(); });
  FailingTask task;
  expect_named("cudaSetDevice", [&] { return stream->Submit(&task); });
  expect_named("cudaLaunchHostFunc",
               [&] { return stream->SubmitOnHost(&task); });
}

TEST(CudaDeviceTest, EachFailedCallOfACaptureIsNamed) {
  for (const std::string call :
       {"cudaStreamBeginCapture", "cudaStreamEndCapture",
        "cudaGraphInstantiate", "cudaGraphLaunch"}) {
    FakeCuda cuda;
    ASSERT_OK_AND_ASSIGN(const auto device, NewCudaDevice(cuda, 0, {}));
    ASSERT_OK_AND_ASSIGN(const auto stream, device->NewStream({}));
    const auto capture_and_launch = [&]() -> absl::Status {
      SPILLWAY_RETURN_IF_ERROR(stream->BeginCapture());
      SPILLWAY_ASSIGN_OR_RETURN(const auto work, stream->EndCapture());
      SPILLWAY_RETURN_IF_ERROR(stream->Launch(*work));
      return stream->Synchronize();
    };
    cuda.Fail(call, kLaunchFailure);
    EXPECT_THAT(capture_and_launch(),
                StatusIs(absl::StatusCode::kInternal,
                         AllOf(HasSubstr(call), HasSubstr("719"))));
    cuda.Fail(call, 0);
    EXPECT_THAT(capture_and_launch(), IsOk()) << call;
  }
}

TEST(CudaDeviceTest, ACaptureRefusesWhatItCannotRecord) {
  FakeCuda cuda;
  ASSERT_OK_AND_ASSIGN(const auto device, NewCudaDevice(cuda, 0, {}));
  ASSERT_OK_AND_ASSIGN(const auto stream, device->NewStream({}));
  ASSERT_OK_AND_ASSIGN(const auto event, device->NewEvent({}));
  ASSERT_THAT(stream->Record(event.get()), IsOk());
  const auto expect_refused = [&](const auto& does) {
    EXPECT_THAT(stream->BeginCapture(), IsOk());
    EXPECT_THAT(absl::Status(does()), StatusIs(absl::StatusCode::kInternal, _));
    EXPECT_THAT(stream->EndCapture(),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("901")));
  };
  expect_refused([&] { return stream->Synchronize(); });
  expect_refused(
      [&] { return device->Allocate(MemorySpace::kDevice, 1).status(); });
  expect_refused(
      [&] { return device->Allocate(MemorySpace::kHost, 1).status(); });
  expect_refused([&] { return stream->Wait(event.get()); });  // earlier mark
  EXPECT_THAT(stream->Synchronize(), IsOk());
}

TEST(CudaDeviceTest, TheDriversBytesAreAllThatWereTakenSinceItWasOpened) {
  FakeCuda cuda(1, 10_MiB);
  void* earlier = nullptr;
  ASSERT_EQ(cuda.Malloc(&earlier, 1_MiB), 0);
  ASSERT_OK_AND_ASSIGN(const auto device,
                       NewCudaDevice(cuda, 0, {.capacity_bytes = 4_MiB}));
  EXPECT_EQ(device->DriverBytesTaken(), 0);
  ASSERT_OK_AND_ASSIGN(const auto memory,
                       device->Allocate(MemorySpace::kDevice, 3_MiB));
  void* of_a_library = nullptr;
  ASSERT_EQ(cuda.Malloc(&of_a_library, 2_MiB), 0);
  EXPECT_EQ(device->DriverBytesTaken(), 5_MiB);
  cuda.Fail("cudaMemGetInfo", kLaunchFailure);
  EXPECT_EQ(device->DriverBytesTaken(), std::nullopt);
  ASSERT_EQ(cuda.Free(earlier), 0);
  ASSERT_EQ(cuda.Free(of_a_library), 0);
}

// A kernel's fault is reported when the stream is synchronised; the task's own
// error is more specific.
TEST(CudaDeviceTest, ATasksErrorComesBeforeTheStreams) {
  FakeCuda cuda;
  ASSERT_OK_AND_ASSIGN(const auto device, NewCudaDevice(cuda, 0, {}));
  ASSERT_OK_AND_ASSIGN(const auto stream, device->NewStream({}));
  FailingTask task;
  EXPECT_THAT(stream->Submit(&task), IsOk());
  cuda.Fail("cudaStreamSynchronize", kLaunchFailure);
  EXPECT_THAT(stream->Synchronize(),
              StatusIs(absl::StatusCode::kInternal, "planted"));
  EXPECT_THAT(stream->Synchronize(),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("cudaStreamSynchronize")));
  cuda.Fail("cudaStreamSynchronize", 0);
}

TEST(CudaDeviceTest, AStepIsIssuedWithoutASynchronisation) {
  FakeCuda cuda;
  ASSERT_OK_AND_ASSIGN(const auto device, NewCudaDevice(cuda, 0, {}));
  ASSERT_OK_AND_ASSIGN(const auto memory,
                       device->Allocate(MemorySpace::kDevice, 4096));
  ASSERT_OK_AND_ASSIGN(const auto host,
                       device->Allocate(MemorySpace::kHost, 4096));
  ASSERT_OK_AND_ASSIGN(const auto out, device->NewStream({}));
  ASSERT_OK_AND_ASSIGN(const auto in, device->NewStream({}));
  ASSERT_OK_AND_ASSIGN(const auto left, device->NewEvent({}));
  ASSERT_OK_AND_ASSIGN(const auto returned, device->NewEvent({}));
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(out->Wait(returned.get()), IsOk());
    EXPECT_THAT(out->CopyToHost(host->data(), memory->data(), 4096), IsOk());
    EXPECT_THAT(out->Record(left.get()), IsOk());
    EXPECT_THAT(in->Wait(left.get()), IsOk());
    EXPECT_THAT(in->CopyToDevice(memory->data(), host->data(), 4096), IsOk());
    EXPECT_THAT(in->Record(returned.get()), IsOk());
  }
  EXPECT_EQ(cuda.calls("cudaStreamSynchronize"), 0);
  EXPECT_EQ(cuda.calls("cudaEventSynchronize"), 0);
  EXPECT_EQ(cuda.calls("cudaMemcpyAsync"), 20);
  EXPECT_THAT(in->Synchronize(), IsOk());
  EXPECT_THAT(out->Synchronize(), IsOk());
}

}  // namespace
}  // namespace spillway
