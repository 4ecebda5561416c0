// Stream: a queue of work that runs in order, concurrently with other streams.
//
// A stream knows only copies, marks and tasks; it does not know ops. Every call
// may return before the work is done. The first error of queued work is kept,
// later work of the stream is skipped (marks are still passed, so that no
// waiting stream hangs), and Synchronize returns the error.
// Threads: one thread at a time issues to a stream.
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
  // `native_stream` is the device's stream handle (cudaStream_t), null on the
  // CPU. On the CPU this runs in stream order on the stream's thread. On a GPU
  // it runs at once on the issuing thread and queues its work on the handle.
  virtual absl::Status Run(void* native_stream) = 0;
};

// Work of one or more streams that is launched as a whole, any number of times.
// All data that the work uses must outlive it.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
};

class Stream {
 public:
  virtual ~Stream() = default;

  virtual absl::Status Submit(StreamTask* task) = 0;

  // Runs the task on a host thread, in stream order, with a null native stream
  // and the device's number of host threads for an OpenMP region. The task may
  // make no call to the device. On the CPU this is Submit.
  virtual absl::Status SubmitOnHost(StreamTask* task) { return Submit(task); }

  // Copies between the device's memory spaces. Both ranges are borrowed until
  // the stream was synchronised; zero bytes is a no-op.
  virtual absl::Status CopyToHost(void* host, const void* device,
                                  int64_t bytes) = 0;
  virtual absl::Status CopyToDevice(void* device, const void* host,
                                    int64_t bytes) = 0;

  // Names the work that this thread issues until EndRange, for a profiler; a
  // no-op on devices without one. `name` is borrowed for the call.
  virtual void BeginRange(const char* /*name*/) {}
  virtual void EndRange() {}

  virtual absl::Status Record(Event* event) = 0;
  // Later work of this stream starts after `event`'s last recorded mark. An
  // event that was never recorded does not block.
  virtual absl::Status Wait(Event* event) = 0;

  // Starts a capture: until EndCapture, work issued to this stream is recorded
  // instead of run. Another stream joins the capture by waiting for an event
  // that was recorded in the capture; before the end, this stream must wait for
  // an event after the other stream's last work. Requires: events have no
  // timing and are recorded before they are waited for; no stream of the
  // capture is synchronised; nothing is allocated. A task runs once, when it is
  // issued; its error is kept as usual, and the captured work is then
  // incomplete. Only if Device::can_capture(), else UNIMPLEMENTED.
  virtual absl::Status BeginCapture() { return NoGraphs(); }
  // Also ends a capture in which an error occurred.
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
