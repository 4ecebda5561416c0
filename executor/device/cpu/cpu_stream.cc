#include "executor/device/cpu/cpu_stream.h"

#include <omp.h>
#include <pthread.h>
#include <sys/prctl.h>

#include <chrono>
#include <string>
#include <utility>

#include "base/check.h"

namespace spillway {
namespace {

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Linux keeps 15 characters of a thread's name.
void NameThisThread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

// Lets the sleeps of paced copies end within microseconds instead of the usual
// 50.
void WakeThisThreadPrecisely() { prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0); }

}  // namespace

int64_t CpuEvent::TimeNs() const {
  SPILLWAY_CHECK(timing_);
  const std::scoped_lock lock(mutex_);
  return time_ns_;
}

uint64_t CpuEvent::NewMark() {
  const std::scoped_lock lock(mutex_);
  return ++last_mark_;
}

uint64_t CpuEvent::last_mark() const {
  const std::scoped_lock lock(mutex_);
  return last_mark_;
}

void CpuEvent::Reach(uint64_t mark) {
  const int64_t now_ns = timing_ ? NowNs() : 0;
  const std::scoped_lock lock(mutex_);
  if (mark <= reached_) return;  // another stream reached a later mark
  reached_ = mark;
  time_ns_ = now_ns;
  reached_changed_.notify_all();
}

void CpuEvent::WaitFor(uint64_t mark) {
  std::unique_lock lock(mutex_);
  reached_changed_.wait(lock, [&] { return reached_ >= mark; });
}

CpuStream::CpuStream(CpuStreamSpec spec)
    : spec_(std::move(spec)), worker_([this] { WorkerLoop(); }) {}

CpuStream::~CpuStream() { Push(Stop{}); }

absl::Status CpuStream::Submit(StreamTask* task) {
  Push(RunTask{task});
  return absl::OkStatus();
}

absl::Status CpuStream::CopyToHost(void* host, const void* device,
                                   int64_t bytes) {
  Push(Copy{spec_.to_host, host, device, bytes});
  return absl::OkStatus();
}

absl::Status CpuStream::CopyToDevice(void* device, const void* host,
                                     int64_t bytes) {
  Push(Copy{spec_.to_device, device, host, bytes});
  return absl::OkStatus();
}

absl::Status CpuStream::Record(Event* event) {
  auto* cpu_event = static_cast<CpuEvent*>(event);
  Push(RecordMark{cpu_event, cpu_event->NewMark()});
  return absl::OkStatus();
}

absl::Status CpuStream::Wait(Event* event) {
  auto* cpu_event = static_cast<CpuEvent*>(event);
  Push(WaitForMark{cpu_event, cpu_event->last_mark()});
  return absl::OkStatus();
}

absl::Status CpuStream::Synchronize() {
  std::unique_lock lock(mutex_);
  AwaitDone(lock, issued_);
  return std::exchange(error_, absl::OkStatus());
}

void CpuStream::Push(const Command& command) {
  std::unique_lock lock(mutex_);
  if (issued_ - done_ == kCapacity) {
    // Waits for half the ring, so that the two threads do not alternate.
    AwaitDone(lock, issued_ - kCapacity / 2);
  }
  ring_[issued_ % kCapacity] = command;
  ++issued_;
  work_.notify_one();
}

void CpuStream::AwaitDone(std::unique_lock<std::mutex>& lock, uint64_t count) {
  awaited_ = count;
  progress_.wait(lock, [&] { return done_ >= count; });
}

void CpuStream::WorkerLoop() {
  NameThisThread(spec_.name);
  WakeThisThreadPrecisely();
  omp_set_num_threads(spec_.threads);
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return issued_ > done_; });
    const Command command = ring_[done_ % kCapacity];
    if (std::holds_alternative<Stop>(command)) return;
    const bool failed = !error_.ok();
    lock.unlock();
    absl::Status status = Execute(command, failed);
    lock.lock();
    if (!failed) error_ = std::move(status);
    ++done_;
    if (done_ == awaited_) progress_.notify_one();
  }
}

absl::Status CpuStream::Execute(const Command& command, bool failed) {
  if (const auto* record = std::get_if<RecordMark>(&command)) {
    record->event->Reach(record->mark);
  } else if (const auto* wait = std::get_if<WaitForMark>(&command)) {
    // Also after an error: later marks imply the work that this wait is for.
    wait->event->WaitFor(wait->mark);
  } else if (const auto* run = std::get_if<RunTask>(&command); run && !failed) {
    return run->task->Run(nullptr);
  } else if (const auto* copy = std::get_if<Copy>(&command); copy && !failed) {
    copy->link->Copy(copy->to, copy->from, copy->bytes);
  }
  return absl::OkStatus();
}

}  // namespace spillway
