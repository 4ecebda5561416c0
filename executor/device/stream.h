// Stream: a queue of work that runs in order, beside other streams.
//
// Streams order work; ops do work: a stream knows copies, marks and "run this".
// Every call may return before the work is done. Errors of queued work are kept
// (the first one), later work of the stream is skipped (marks are still passed,
// so nobody hangs), and Synchronize returns it.
// Threads: one thread issues to a stream at a time.
// Cost: no call allocates memory of tensor size.
#ifndef SPILLWAY_EXECUTOR_DEVICE_STREAM_H_
#define SPILLWAY_EXECUTOR_DEVICE_STREAM_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/device/event.h"

namespace spillway {

// Work for a stream. Borrowed until the stream was synchronised.
class StreamTask {
 public:
  virtual ~StreamTask() = default;
  // `native_stream` is the device's own handle (cudaStream_t), null on the CPU.
  // On the CPU this runs in stream order on the stream's thread; on a GPU it
  // runs at once on the issuing thread and queues its work on the handle.
  virtual absl::Status Run(void* native_stream) = 0;
};

// Work of one or more streams that is launched as a whole, again and again.
// What the work uses must outlive it.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
};

class Stream {
 public:
  virtual ~Stream() = default;

  virtual absl::Status Submit(StreamTask* task) = 0;

  // Copies between the device's memory spaces. Both ranges are borrowed until
  // the stream was synchronised; zero bytes is a no-op.
  virtual absl::Status CopyToHost(void* host, const void* device,
                                  int64_t bytes) = 0;
  virtual absl::Status CopyToDevice(void* device, const void* host,
                                    int64_t bytes) = 0;

  // Names what this thread issues until EndRange, for a profiler; on devices
  // that have one. `name` is borrowed for the call.
  virtual void BeginRange(const char* /*name*/) {}
  virtual void EndRange() {}

  virtual absl::Status Record(Event* event) = 0;
  // Later work of this stream starts after `event`'s last recorded mark. An
  // event that was never recorded does not block.
  virtual absl::Status Wait(Event* event) = 0;

  // Until EndCapture, work that is issued to this stream is recorded instead of
  // run. Another stream joins the capture by waiting for an event that was
  // recorded within it; before the end this one waits for an event behind the
  // other's last work. Events without timing, recorded before they are waited
  // for; no stream of the capture is synchronised and nothing is allocated. A
  // task runs once, when it is issued; its error is kept as ever, and then what
  // was captured lacks work.
  // Only where Device::can_capture(), else UNIMPLEMENTED.
  virtual absl::Status BeginCapture() { return NoGraphs(); }
  // Also ends a capture in which something failed.
  virtual absl::StatusOr<std::unique_ptr<CapturedWork>> EndCapture() {
    return NoGraphs();
  }
  // `work`, of the same device, is borrowed until this stream was synchronised.
  virtual absl::Status Launch(CapturedWork& /*work*/) { return NoGraphs(); }

  // Blocks until all queued work is done; returns and clears the first error.
  virtual absl::Status Synchronize() = 0;

 private:
  static absl::Status NoGraphs() {
    return absl::UnimplementedError("this device has no graphs");
  }
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_STREAM_H_
