#include "comm/thread_communicator.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "comm/reduce.h"
#include "fmt/format.h"

namespace spillway {
namespace {

// What the ranks of a run share. In a call, each rank shows its memory and
// arrives; when all have, each may use the memory of the others; then it
// leaves, with its own memory back when all have left.
class Meeting {
 public:
  explicit Meeting(int size) : shown_(static_cast<size_t>(size)) {}

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

  void End(const absl::Status& reason) {
    const std::lock_guard lock(mutex_);
    if (ended_.ok()) ended_ = reason;
    changed_.notify_all();
  }

  // What `rank` shows; of other ranks only after Arrive and before Leave.
  std::byte*& shown(int rank) { return shown_[static_cast<size_t>(rank)]; }
  int size() const { return static_cast<int>(shown_.size()); }

 private:
  std::string Missing() const {
    std::string names;
    int count = 0;
    for (int rank = 0; rank < size(); ++rank) {
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
  std::vector<std::byte*> shown_;  // by rank
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(CommInfo info, const CommOptions& options,
                     std::shared_ptr<Meeting> meeting)
      : Communicator(std::move(info), options), meeting_(std::move(meeting)) {}

  ~ThreadCommunicator() override {
    meeting_->End(
        absl::UnavailableError(fmt::format("rank {} has left", rank())));
  }

 protected:
  // Each rank reduces its part of the elements for all of them.
  absl::Status DoAllReduce(void* data, int64_t count, DType dtype,
                           ReduceOp op) override {
    SPILLWAY_RETURN_IF_ERROR(Show(data));
    const int64_t begin = count * rank() / size();
    const int64_t end = count * (rank() + 1) / size();
    const int64_t offset = begin * SizeOf(dtype);
    std::byte* const sum = meeting_->shown(0) + offset;
    for (int other = 1; other < size(); ++other) {
      ReduceInto(sum, meeting_->shown(other) + offset, end - begin, dtype, op);
    }
    for (int other = 1; other < size(); ++other) {
      std::memcpy(meeting_->shown(other) + offset, sum,
                  static_cast<size_t>((end - begin) * SizeOf(dtype)));
    }
    meeting_->Leave();
    return absl::OkStatus();
  }

  absl::Status DoBroadcast(void* data, int64_t bytes, int root) override {
    SPILLWAY_RETURN_IF_ERROR(Show(data));
    if (rank() != root) {
      std::memcpy(data, meeting_->shown(root), static_cast<size_t>(bytes));
    }
    meeting_->Leave();
    return absl::OkStatus();
  }

  absl::Status DoAllGather(const void* in, void* out, int64_t bytes) override {
    // Only read.
    SPILLWAY_RETURN_IF_ERROR(Show(const_cast<void*>(in)));
    for (int other = 0; other < size(); ++other) {
      std::memcpy(static_cast<std::byte*>(out) + other * bytes,
                  meeting_->shown(other), static_cast<size_t>(bytes));
    }
    meeting_->Leave();
    return absl::OkStatus();
  }

  absl::Status DoBarrier() override { return Arrive(); }

  void DoAbort(const absl::Status& reason) override {
    meeting_->End(absl::AbortedError(
        fmt::format("rank {}: {}", rank(), std::string(reason.message()))));
  }

 private:
  absl::Status Arrive() { return meeting_->Arrive(rank(), options().timeout); }

  absl::Status Show(void* data) {
    meeting_->shown(rank()) = static_cast<std::byte*>(data);
    return Arrive();
  }

  const std::shared_ptr<Meeting> meeting_;
};

std::vector<std::unique_ptr<Communicator>> NewCommunicators(
    int size, const std::string& backend, const CommOptions& options) {
  const auto meeting = std::make_shared<Meeting>(size);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.push_back(
        std::make_unique<ThreadCommunicator>(CommInfo{.rank = rank,
                                                      .size = size,
                                                      .local_rank = rank,
                                                      .local_size = size,
                                                      .backend = backend},
                                             options, meeting));
  }
  return ranks;
}

}  // namespace

std::vector<std::unique_ptr<Communicator>> NewThreadCommunicators(
    int size, const CommOptions& options) {
  return NewCommunicators(size, "thread", options);
}

std::unique_ptr<Communicator> NewSelfCommunicator(const CommOptions& options) {
  return std::move(NewCommunicators(1, "self", options)[0]);
}

}  // namespace spillway
