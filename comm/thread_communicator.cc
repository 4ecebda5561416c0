#include "comm/thread_communicator.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "comm/reduce.h"
#include "fmt/format.h"

namespace spillway {
namespace {

// What the ranks of a process share. In a call, each rank shows its memory and
// arrives; when all have, each may use the memory of the others; then it
// leaves, with its own memory back when all have left.
class Meeting {
 public:
  // The ranks from `first` on.
  Meeting(int first, int size)
      : first_(first), shown_(static_cast<size_t>(size)) {}

  // Returns when all ranks have arrived. After an error, no rank has.
  absl::Status Arrive(int rank, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (!ended_.ok()) return ended_;
    const int64_t number = number_;
    arrived_.push_back(rank);
    if (arrived_.size() == shown_.size()) {
      arrived_.clear();
      ++number_;
      changed_.notify_all();
      return absl::OkStatus();
    }
    const bool in_time = changed_.wait_for(
        lock, timeout, [&] { return number_ != number || !ended_.ok(); });
    if (number_ != number) return absl::OkStatus();
    if (in_time) return ended_;
    ended_ = absl::DeadlineExceededError(
        fmt::format("{} not arrived within {} ms", Missing(), timeout.count()));
    changed_.notify_all();
    return ended_;
  }

  // Without a deadline: all are there, and none fails before it leaves.
  void Leave() {
    std::unique_lock lock(mutex_);
    const int64_t number = number_;
    if (++leaving_ == size()) {
      leaving_ = 0;
      ++number_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return number_ != number; });
  }

  // For a call among processes: thread 0 makes it when all have arrived, which
  // returns to all with its result. The call has a deadline of its own.
  absl::Status Speak(int rank, const std::function<absl::Status()>& call) {
    std::unique_lock lock(mutex_);
    const int64_t number = number_;
    if (++leaving_ == size()) changed_.notify_all();
    if (rank != 0) {
      changed_.wait(lock, [&] { return number_ != number; });
      return spoken_;  // another one comes when this thread is there again
    }
    changed_.wait(lock, [&] { return leaving_ == size(); });
    lock.unlock();
    const absl::Status status = call();
    lock.lock();
    spoken_ = status;
    if (ended_.ok()) ended_ = status;
    leaving_ = 0;
    ++number_;
    changed_.notify_all();
    return status;
  }

  void End(const absl::Status& reason) {
    const std::lock_guard lock(mutex_);
    if (ended_.ok()) ended_ = reason;
    changed_.notify_all();
  }

  // What a thread shows; of other ones only after Arrive and before Leave.
  std::byte*& shown(int thread) { return shown_[static_cast<size_t>(thread)]; }
  int size() const { return static_cast<int>(shown_.size()); }

 private:
  std::string Missing() const {
    std::string names;
    int count = 0;
    for (int rank = first_; rank < first_ + size(); ++rank) {
      if (std::ranges::count(arrived_, rank) > 0) continue;
      names += fmt::format("{}{}", count++ == 0 ? "" : ", ", rank);
    }
    return fmt::format("{} {} {}", count == 1 ? "rank" : "ranks", names,
                       count == 1 ? "has" : "have");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> arrived_;  // ranks that wait
  int leaving_ = 0;
  int64_t number_ = 0;  // how often all have arrived or left
  absl::Status ended_;
  absl::Status spoken_;  // of the last call among processes
  const int first_;
  std::vector<std::byte*> shown_;  // by thread
};

class ThreadCommunicator final : public Communicator {
 public:
  // `processes`: null for one process.
  ThreadCommunicator(CommInfo info, const CommOptions& options, int thread,
                     std::shared_ptr<Meeting> meeting, Communicator* processes)
      : Communicator(std::move(info), options),
        thread_(thread),
        meeting_(std::move(meeting)),
        processes_(processes) {}

  ~ThreadCommunicator() override {
    meeting_->End(
        absl::UnavailableError(fmt::format("rank {} has left", rank())));
  }

 protected:
  // Each thread reduces its part of the elements for all of them.
  absl::Status DoAllReduce(void* data, int64_t count, DType dtype,
                           ReduceOp op) override {
    SPILLWAY_RETURN_IF_ERROR(Show(data));
    const int64_t begin = count * thread_ / threads();
    const int64_t end = count * (thread_ + 1) / threads();
    const int64_t offset = begin * SizeOf(dtype);
    std::byte* const sum = meeting_->shown(0) + offset;
    for (int other = 1; other < threads(); ++other) {
      ReduceInto(sum, meeting_->shown(other) + offset, end - begin, dtype, op);
    }
    SPILLWAY_RETURN_IF_ERROR(AmongProcesses(
        [&] { return processes_->AllReduce(data, count, dtype, op); }));
    for (int other = 1; other < threads(); ++other) {
      std::memcpy(meeting_->shown(other) + offset, sum,
                  static_cast<size_t>((end - begin) * SizeOf(dtype)));
    }
    meeting_->Leave();
    return absl::OkStatus();
  }

  absl::Status DoBroadcast(void* data, int64_t bytes, int root) override {
    SPILLWAY_RETURN_IF_ERROR(Show(data));
    int from = root;  // thread
    if (processes_ != nullptr) {
      const int process = root / threads();
      from = processes_->rank() == process ? root % threads() : 0;
      std::byte* const shown = meeting_->shown(from);
      SPILLWAY_RETURN_IF_ERROR(AmongProcesses(
          [&] { return processes_->Broadcast(shown, bytes, process); }));
    }
    if (thread_ != from) {
      std::memcpy(data, meeting_->shown(from), static_cast<size_t>(bytes));
    }
    meeting_->Leave();
    return absl::OkStatus();
  }

  absl::Status DoAllGather(const void* in, void* out, int64_t bytes) override {
    // Only read.
    SPILLWAY_RETURN_IF_ERROR(Show(const_cast<void*>(in)));
    if (processes_ == nullptr) {
      GatherThreads(static_cast<std::byte*>(out), bytes);
      meeting_->Leave();
      return absl::OkStatus();
    }
    std::vector<std::byte> own;
    if (thread_ == 0) {
      own.resize(static_cast<size_t>(threads() * bytes));
      GatherThreads(own.data(), bytes);
    }
    meeting_->Leave();
    SPILLWAY_RETURN_IF_ERROR(Show(out));
    SPILLWAY_RETURN_IF_ERROR(AmongProcesses([&] {
      return processes_->AllGather(own.data(), out, threads() * bytes);
    }));
    if (thread_ != 0) {
      std::memcpy(out, meeting_->shown(0), static_cast<size_t>(size() * bytes));
    }
    meeting_->Leave();
    return absl::OkStatus();
  }

  absl::Status DoBarrier() override {
    SPILLWAY_RETURN_IF_ERROR(Arrive());
    return AmongProcesses([&] { return processes_->Barrier(); });
  }

  void DoAbort(const absl::Status& reason) override {
    meeting_->End(absl::AbortedError(
        fmt::format("rank {}: {}", rank(), std::string(reason.message()))));
    if (processes_ != nullptr) processes_->Abort(reason);
  }

 private:
  int threads() const { return meeting_->size(); }

  absl::Status Arrive() { return meeting_->Arrive(rank(), options().timeout); }

  absl::Status Show(void* data) {
    meeting_->shown(thread_) = static_cast<std::byte*>(data);
    return Arrive();
  }

  // Thread 0 makes the call when all threads have come here.
  absl::Status AmongProcesses(const std::function<absl::Status()>& call) {
    return processes_ == nullptr ? absl::OkStatus()
                                 : meeting_->Speak(thread_, call);
  }

  // to <- what the threads show, in their order.
  void GatherThreads(std::byte* to, int64_t bytes) {
    for (int other = 0; other < threads(); ++other) {
      std::memcpy(to + other * bytes, meeting_->shown(other),
                  static_cast<size_t>(bytes));
    }
  }

  const int thread_;
  const std::shared_ptr<Meeting> meeting_;
  Communicator* const processes_;
};

std::vector<std::unique_ptr<Communicator>> NewCommunicators(
    int threads, const std::string& backend, const CommOptions& options,
    Communicator* processes) {
  CommInfo outer;
  if (processes != nullptr) outer = processes->info();
  const auto meeting = std::make_shared<Meeting>(outer.rank * threads, threads);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int thread = 0; thread < threads; ++thread) {
    ranks.push_back(std::make_unique<ThreadCommunicator>(
        CommInfo{.rank = outer.rank * threads + thread,
                 .size = outer.size * threads,
                 .local_rank = outer.local_rank * threads + thread,
                 .local_size = outer.local_size * threads,
                 .backend = processes == nullptr
                                ? backend
                                : backend + ", " + outer.backend,
                 .version = outer.version},
        options, thread, meeting, processes));
  }
  return ranks;
}

}  // namespace

std::vector<std::unique_ptr<Communicator>> NewThreadCommunicators(
    int size, const CommOptions& options, Communicator* processes) {
  return NewCommunicators(size, "thread", options, processes);
}

std::unique_ptr<Communicator> NewSelfCommunicator(const CommOptions& options) {
  return std::move(NewCommunicators(1, "self", options, nullptr)[0]);
}

}  // namespace spillway
