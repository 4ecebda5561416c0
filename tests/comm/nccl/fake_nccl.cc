#include "tests/comm/nccl/fake_nccl.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "comm/open_communicator.h"
#include "comm/thread_communicator.h"
#include "fmt/format.h"

namespace spillway::testing {
namespace {

constexpr NcclApi::Result kInvalidArgument = 4;

class ThreadMeeting final : public NcclMeeting {
 public:
  explicit ThreadMeeting(std::chrono::milliseconds patience)
      : patience_(patience) {}

  std::string NewId() override {
    const std::lock_guard lock(mutex_);
    return fmt::format("meeting {}", ++meetings_);
  }

  absl::StatusOr<std::unique_ptr<Communicator>> Meet(const std::string& id,
                                                     int size,
                                                     int rank) override {
    std::unique_lock lock(mutex_);
    Meeting& meeting = open_[id];
    if (meeting.ranks.empty()) meeting.ranks = NewThreadCommunicators(size);
    ++meeting.come;
    changed_.notify_all();
    const bool have_all = changed_.wait_for(
        lock, patience_, [&] { return meeting.come == size; });
    if (!have_all) return Unavailable("a rank has not come");
    return std::move(meeting.ranks[static_cast<size_t>(rank)]);
  }

 private:
  struct Meeting {
    std::vector<std::unique_ptr<Communicator>> ranks = {};
    int come = 0;
  };

  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Meeting> open_;
  int meetings_ = 0;
};

// They meet in a folder, whose name is the id.
class ProcessMeeting final : public NcclMeeting {
 public:
  std::string NewId() override {
    std::string folder =
        (std::filesystem::temp_directory_path() / "fake_nccl_XXXXXX").string();
    SPILLWAY_CHECK(mkdtemp(folder.data()) != nullptr);
    return folder;
  }

  absl::StatusOr<std::unique_ptr<Communicator>> Meet(const std::string& id,
                                                     int size,
                                                     int rank) override {
    if (size == 1) return NewSelfCommunicator();
    absl::StatusOr<std::unique_ptr<Communicator>> opened =
        OpenCommunicator({.backend = "gloo",
                          .identity = {.rank = rank,
                                       .size = size,
                                       .launcher = "fake nccl",
                                       .run_id = id,
                                       .rendezvous_folder = id},
                          .options = {.timeout = std::chrono::minutes(1)}});
    if (!opened.ok()) return opened;
    SPILLWAY_RETURN_IF_ERROR((*opened)->Barrier());
    // Only needed to meet.
    if (rank == 0) std::filesystem::remove_all(id);
    return opened;
  }
};

}  // namespace

std::unique_ptr<NcclMeeting> MeetingOfThreads(
    std::chrono::milliseconds patience) {
  return std::make_unique<ThreadMeeting>(patience);
}

std::unique_ptr<NcclMeeting> MeetingOfProcesses() {
  return std::make_unique<ProcessMeeting>();
}

// Of one communicator. Queued work keeps it alive after an abort.
struct FakeNccl::Rank {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_ptr<Communicator> ranks;  // null until opened
  Result error = kInProgress;           // of what is queued; at first, opening
  bool is_aborted = false;
  std::thread opening;

  // What a kernel does.
  void AllReduce(void* data, size_t count, DType dtype, ReduceOp op) {
    const absl::Status status =
        ranks->AllReduce(data, static_cast<int64_t>(count), dtype, op);
    if (status.ok()) return;
    std::unique_lock lock(mutex);
    error = kRemoteError;
    changed.wait(lock, [&] { return is_aborted; });
  }
};

FakeNccl::FakeNccl(std::unique_ptr<NcclMeeting> meeting, QueueOnStream queue)
    : meeting_(std::move(meeting)), queue_(std::move(queue)) {}

FakeNccl::~FakeNccl() { SPILLWAY_CHECK(ranks_.empty()); }

void FakeNccl::Fail(const std::string& call, Result error) {
  const std::lock_guard lock(mutex_);
  failures_[call] = error;
}

int FakeNccl::calls(const std::string& call) const {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(call);
  return found == calls_.end() ? 0 : found->second;
}

NcclApi::Result FakeNccl::Called(const std::string& call) {
  const std::lock_guard lock(mutex_);
  ++calls_[call];
  const auto found = failures_.find(call);
  return found == failures_.end() ? 0 : found->second;
}

std::shared_ptr<FakeNccl::Rank> FakeNccl::Find(Comm comm) {
  const std::lock_guard lock(mutex_);
  const auto found = ranks_.find(comm);
  SPILLWAY_CHECK(found != ranks_.end());
  return found->second;
}

std::string FakeNccl::ErrorText(Result result, Comm /*comm*/) const {
  return result == kRemoteError ? "remote process exited"
                                : fmt::format("error {}", result);
}

NcclApi::Result FakeNccl::GetVersion(int* to) {
  *to = version;
  return Called("ncclGetVersion");
}

NcclApi::Result FakeNccl::GetUniqueId(UniqueId* id) {
  const Result error = Called("ncclGetUniqueId");
  if (error != 0) return error;
  const std::string text = meeting_->NewId();
  SPILLWAY_CHECK(text.size() < id->size());
  id->fill('\0');
  std::ranges::copy(text, id->begin());
  return 0;
}

NcclApi::Result FakeNccl::CommInitRank(Comm* comm, int size, const UniqueId& id,
                                       int rank) {
  const Result error = Called("ncclCommInitRankConfig");
  if (error != 0) return error;
  const auto made = std::make_shared<Rank>();
  *comm = made.get();
  {
    const std::lock_guard lock(mutex_);
    ranks_[*comm] = made;
  }
  const std::string text(id.data());
  made->opening = std::thread([this, made = made.get(), text, size, rank] {
    absl::StatusOr<std::unique_ptr<Communicator>> opened =
        meeting_->Meet(text, size, rank);
    const std::lock_guard lock(made->mutex);
    made->error = opened.ok() ? 0 : kRemoteError;
    if (opened.ok()) made->ranks = *std::move(opened);
  });
  return kInProgress;
}

NcclApi::Result FakeNccl::CommGetAsyncError(Comm comm, Result* result) {
  const std::shared_ptr<Rank> rank = Find(comm);
  const std::lock_guard lock(rank->mutex);
  *result = rank->error;
  return Called("ncclCommGetAsyncError");
}

NcclApi::Result FakeNccl::CommFinalize(Comm comm) {
  static_cast<void>(Find(comm));
  return Called("ncclCommFinalize");
}

NcclApi::Result FakeNccl::Release(Comm comm) {
  const std::shared_ptr<Rank> rank = Find(comm);
  rank->opening.join();
  {
    const std::lock_guard lock(rank->mutex);
    rank->is_aborted = true;
  }
  if (rank->ranks != nullptr) {
    rank->ranks->Abort(absl::CancelledError("aborted"));
  }
  rank->changed.notify_all();
  const std::lock_guard lock(mutex_);
  ranks_.erase(comm);
  return 0;
}

NcclApi::Result FakeNccl::CommDestroy(Comm comm) {
  const Result error = Called("ncclCommDestroy");
  return error != 0 ? error : Release(comm);
}

NcclApi::Result FakeNccl::CommAbort(Comm comm) {
  const Result error = Called("ncclCommAbort");
  return error != 0 ? error : Release(comm);
}

NcclApi::Result FakeNccl::AllReduce(void* data, size_t count, DType dtype,
                                    ReduceOp op, Comm comm, Stream stream) {
  const Result error = Called("ncclAllReduce");
  if (error != 0) return error;
  const std::shared_ptr<Rank> rank = Find(comm);
  if (rank->ranks == nullptr) return kInvalidArgument;
  queue_(stream, [=] { rank->AllReduce(data, count, dtype, op); });
  return 0;
}

}  // namespace spillway::testing
