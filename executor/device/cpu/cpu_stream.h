// The cpu backend's stream and event: a worker thread with a ring of commands,
// and a counter that threads wait for.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CPU_CPU_STREAM_H_
#define SPILLWAY_EXECUTOR_DEVICE_CPU_CPU_STREAM_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <variant>

#include "absl/status/status.h"
#include "executor/device/cpu/link.h"
#include "executor/device/device.h"

namespace spillway {

// Marks are numbered in the order of the calls of Record. A wait is for the
// mark that was the last when the wait was issued, whatever is recorded later.
// Mark 0 counts as reached.
class CpuEvent final : public Event {
 public:
  explicit CpuEvent(bool timing) : timing_(timing) {}

  int64_t TimeNs() const override;

  // Called by the thread that issues.
  uint64_t NewMark();
  uint64_t last_mark() const;

  // Called by the threads of streams.
  void Reach(uint64_t mark);
  void WaitFor(uint64_t mark);

 private:
  const bool timing_;
  mutable std::mutex mutex_;
  std::condition_variable reached_changed_;
  uint64_t last_mark_ = 0;
  uint64_t reached_ = 0;
  int64_t time_ns_ = 0;
};

struct CpuStreamSpec {
  std::string name;
  int threads = 1;          // of an OpenMP region inside a task
  Link* to_host = nullptr;  // both borrowed
  Link* to_device = nullptr;
};

// The ring never grows: issuing blocks while it is full. This cannot deadlock,
// because a wait is only ever for a mark whose command is already in a ring.
class CpuStream final : public Stream {
 public:
  explicit CpuStream(CpuStreamSpec spec);
  // Finishes the queued work.
  ~CpuStream() override;

  absl::Status Submit(StreamTask* task) override;
  absl::Status CopyToHost(void* host, const void* device,
                          int64_t bytes) override;
  absl::Status CopyToDevice(void* device, const void* host,
                            int64_t bytes) override;
  absl::Status Record(Event* event) override;
  absl::Status Wait(Event* event) override;
  absl::Status Synchronize() override;

 private:
  struct RunTask {
    StreamTask* task = nullptr;
  };
  struct Copy {
    Link* link = nullptr;
    void* to = nullptr;
    const void* from = nullptr;
    int64_t bytes = 0;
  };
  struct RecordMark {
    CpuEvent* event = nullptr;
    uint64_t mark = 0;
  };
  struct WaitForMark {
    CpuEvent* event = nullptr;
    uint64_t mark = 0;
  };
  struct Stop {};
  using Command = std::variant<Stop, RunTask, Copy, RecordMark, WaitForMark>;

  static constexpr size_t kCapacity = 1024;

  // Waits for room, then queues the command.
  void Push(const Command& command);
  // Blocks the issuer until `done_` is at least `count`; `lock` holds mutex_.
  void AwaitDone(std::unique_lock<std::mutex>& lock, uint64_t count);
  // The worker: takes commands in order until Stop.
  void WorkerLoop();
  // After an error only marks and waits are executed.
  absl::Status Execute(const Command& command, bool failed);

  const CpuStreamSpec spec_;
  std::mutex mutex_;
  std::condition_variable work_;         // for the worker: issued_ has grown
  std::condition_variable progress_;     // for the issuer: done_ == awaited_
  std::array<Command, kCapacity> ring_;  // command i lies at i % kCapacity
  uint64_t issued_ = 0;
  uint64_t done_ = 0;
  uint64_t awaited_ = 0;
  absl::Status error_;   // the first since the last Synchronize
  std::jthread worker_;  // last: starts after all members exist
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CPU_CPU_STREAM_H_
