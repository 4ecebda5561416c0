#include "comm/nccl/nccl_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

using NcclClock = std::chrono::steady_clock;

// The first with calls that do not block (ncclConfig_t::blocking).
constexpr int kLeastVersion = 21800;

// How often a call that goes on is asked for its result, and how often errors
// are asked for during a step.
constexpr auto kPollTime = std::chrono::microseconds(50);
constexpr auto kWatchTime = std::chrono::milliseconds(20);

// How often the host's communicator is asked.
constexpr auto kAskHostTime = std::chrono::seconds(1);

// For the end of a communicator whose ranks are all well.
constexpr auto kFarewellTime = std::chrono::seconds(5);

// "2.28.9"
std::string VersionText(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100,
                     version % 100);
}

absl::Status ErrorOf(const NcclApi& api, NcclApi::Result result,
                     NcclApi::Comm comm, const char* call) {
  if (result == 0) return absl::OkStatus();
  return absl::UnavailableError(
      fmt::format("{}: {}", call, api.ErrorText(result, comm)));
}

// The communicator of NCCL. Calls that do not block are made one at a time, so
// that an abort by another thread never waits for a rank.
class NcclComm {
 public:
  explicit NcclComm(NcclApi& api) : api_(api) {}
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;

  ~NcclComm() {
    if (comm_ == nullptr) return;
    const absl::Status ended = Call("ncclCommFinalize", kFarewellTime,
                                    [&] { return api_.CommFinalize(comm_); });
    const std::lock_guard lock(mutex_);
    if (comm_ == nullptr) return;
    static_cast<void>(ended.ok() ? api_.CommDestroy(comm_)
                                 : api_.CommAbort(comm_));
  }

  // Makes a call, and waits until it is done: for most, at once. After an
  // abort, the reason of the abort.
  template <typename Work>
  absl::Status Call(const char* name, std::chrono::milliseconds timeout,
                    const Work& work) {
    const auto start = NcclClock::now();
    {
      const std::lock_guard lock(mutex_);
      SPILLWAY_RETURN_IF_ERROR(end_);
      const NcclApi::Result result = work();
      if (result != NcclApi::kInProgress) {
        return ErrorOf(api_, result, comm_, name);
      }
    }
    while (true) {
      SPILLWAY_ASSIGN_OR_RETURN(const bool is_done, IsDone(name));
      if (is_done) return absl::OkStatus();
      if (NcclClock::now() - start >= timeout) {
        return absl::DeadlineExceededError(fmt::format(
            "{}: not all ranks have come within {} ms", name, timeout.count()));
      }
      std::this_thread::sleep_for(kPollTime);
    }
  }

  absl::Status Open(int size, const NcclApi::UniqueId& id, int rank,
                    std::chrono::milliseconds timeout) {
    return Call("ncclCommInitRankConfig", timeout,
                [&] { return api_.CommInitRank(&comm_, size, id, rank); });
  }

  absl::Status AllReduce(void* data, int64_t count, DType dtype, ReduceOp op,
                         void* stream, std::chrono::milliseconds timeout) {
    return Call("ncclAllReduce", timeout, [&] {
      return api_.AllReduce(data, static_cast<size_t>(count), dtype, op, comm_,
                            stream);
    });
  }

  // Whether nothing goes on; the error of what is queued.
  absl::StatusOr<bool> IsDone(const char* call) {
    const std::lock_guard lock(mutex_);
    SPILLWAY_RETURN_IF_ERROR(end_);
    NcclApi::Result result = 0;
    SPILLWAY_RETURN_IF_ERROR(ErrorOf(api_,
                                     api_.CommGetAsyncError(comm_, &result),
                                     comm_, "ncclCommGetAsyncError"));
    if (result == NcclApi::kInProgress) return false;
    SPILLWAY_RETURN_IF_ERROR(ErrorOf(api_, result, comm_, call));
    return true;
  }

  // Only the first reason counts.
  void Abort(const absl::Status& reason) {
    const std::lock_guard lock(mutex_);
    if (!end_.ok()) return;
    end_ = reason;
    if (comm_ != nullptr) static_cast<void>(api_.CommAbort(comm_));
    comm_ = nullptr;
  }

  absl::Status end() const {
    const std::lock_guard lock(mutex_);
    return end_;
  }

 private:
  NcclApi& api_;
  mutable std::mutex mutex_;
  NcclApi::Comm comm_ = nullptr;  // null: not opened, or aborted
  absl::Status end_;              // why it was aborted
};

class NcclCollectives final : public StreamCollectives {
 public:
  NcclCollectives(std::unique_ptr<NcclComm> comm, const Communicator& host,
                  std::string name, std::chrono::milliseconds timeout)
      : name_(std::move(name)),
        timeout_(timeout),
        host_(host),
        comm_(std::move(comm)) {
    watch_ = std::thread([this] { Watch(); });
  }

  ~NcclCollectives() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    watch_.join();
  }

  std::string name() const override { return name_; }

  absl::Status AllReduce(void* data, int64_t count, DType dtype, ReduceOp op,
                         void* stream) override {
    if (dtype == DType::kBool) {
      return InvalidArgument("all-reduce: bool has no sum");
    }
    {
      const std::lock_guard lock(mutex_);
      ++statistics_.calls;
      statistics_.bytes += count * SizeOf(dtype);
    }
    if (count == 0) return comm_->end();
    const absl::Status status =
        comm_->AllReduce(data, count, dtype, op, stream, timeout_);
    if (status.ok()) return absl::OkStatus();
    comm_->Abort(status);
    return comm_->end();
  }

  void Begin() override {
    {
      const std::lock_guard lock(mutex_);
      begun_ = NcclClock::now();
      asked_ = begun_;
      is_watched_ = true;
    }
    changed_.notify_all();
  }

  absl::Status End() override {
    {
      const std::lock_guard lock(mutex_);
      is_watched_ = false;
    }
    // What has gone wrong since the watch last looked.
    const absl::Status status = comm_->IsDone("ncclAllReduce").status();
    if (!status.ok()) comm_->Abort(status);
    return comm_->end();
  }

  void Abort(const absl::Status& reason) override {
    SPILLWAY_CHECK(!reason.ok());
    comm_->Abort(reason);
  }

  StreamStatistics statistics() const override {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  void Watch() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
      if (!is_watched_) {
        changed_.wait(lock);
        continue;
      }
      changed_.wait_for(lock, kWatchTime);
      if (ends_ || !is_watched_) continue;
      const auto now = NcclClock::now();
      const bool is_late = now - begun_ >= timeout_;
      const bool asks_host = now - asked_ >= kAskHostTime;
      if (asks_host) asked_ = now;
      lock.unlock();
      const absl::Status status = Look(is_late, asks_host);
      if (!status.ok()) comm_->Abort(status);
      lock.lock();
    }
  }

  absl::Status Look(bool is_late, bool asks_host) const {
    SPILLWAY_RETURN_IF_ERROR(comm_->IsDone("ncclAllReduce").status());
    if (is_late) {
      return absl::DeadlineExceededError(
          fmt::format("nccl: a step has not ended within {} ms; a rank is late",
                      timeout_.count()));
    }
    return asks_host ? host_.FindEnd() : absl::OkStatus();
  }

  const std::string name_;
  const std::chrono::milliseconds timeout_;
  const Communicator& host_;
  const std::unique_ptr<NcclComm> comm_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  bool is_watched_ = false;  // between Begin and End
  NcclClock::time_point begun_;
  NcclClock::time_point asked_;  // the host
  StreamStatistics statistics_;
  std::thread watch_;  // last: uses the others
};

}  // namespace

absl::StatusOr<std::unique_ptr<StreamCollectives>> OpenNcclCollectives(
    NcclApi& api, Communicator& host, std::chrono::milliseconds timeout) {
  int version = 0;
  SPILLWAY_RETURN_IF_ERROR(
      ErrorOf(api, api.GetVersion(&version), nullptr, "ncclGetVersion"));
  if (version < kLeastVersion) {
    return InvalidArgument(
        fmt::format("nccl: version {} is before 2.18", VersionText(version)));
  }
  // Rank 0 sends its error too, so that the others do not wait in vain.
  NcclApi::UniqueId id = {};
  absl::Status status;
  if (host.rank() == 0) {
    status = ErrorOf(api, api.GetUniqueId(&id), nullptr, "ncclGetUniqueId");
  }
  if (!status.ok()) host.Abort(status);
  SPILLWAY_RETURN_IF_ERROR(
      host.Broadcast(id.data(), static_cast<int64_t>(id.size()), 0));
  auto comm = std::make_unique<NcclComm>(api);
  const absl::Status opened = comm->Open(host.size(), id, host.rank(), timeout);
  if (!opened.ok()) {
    comm->Abort(opened);
    return opened;
  }
  return std::make_unique<NcclCollectives>(
      std::move(comm), host, fmt::format("nccl {}", VersionText(version)),
      timeout);
}

}  // namespace spillway
