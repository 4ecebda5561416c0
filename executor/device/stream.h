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

#include "absl/status/status.h"
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

  // Blocks until all queued work is done; returns and clears the first error.
  virtual absl::Status Synchronize() = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_STREAM_H_
