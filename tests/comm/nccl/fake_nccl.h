// NCCL on the CPU: its collectives are those of a Communicator, as kernels of
// the fake GPU (tests/support/fake_cuda.h). As with NCCL, opening does not
// block, and a kernel whose ranks are lost waits until the communicator is
// aborted. Any call can be made to fail.
#ifndef SPILLWAY_TESTS_COMM_NCCL_FAKE_NCCL_H_
#define SPILLWAY_TESTS_COMM_NCCL_FAKE_NCCL_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/nccl/nccl_api.h"

namespace spillway::testing {

// Runs `work` in the order of a stream.
using QueueOnStream =
    std::function<void(void* stream, std::function<void()> work)>;

// How the ranks of a communicator of NCCL find each other.
class NcclMeeting {
 public:
  virtual ~NcclMeeting() = default;
  virtual std::string NewId() = 0;  // at most 127 bytes
  // The communicator of a rank; called by a thread of its own.
  virtual absl::StatusOr<std::unique_ptr<Communicator>> Meet(
      const std::string& id, int size, int rank) = 0;
};

// Ranks that are threads of this process. One that does not come is an error of
// the others after `patience`.
std::unique_ptr<NcclMeeting> MeetingOfThreads(
    std::chrono::milliseconds patience);

// Ranks that are processes, by gloo.
std::unique_ptr<NcclMeeting> MeetingOfProcesses();

class FakeNccl final : public NcclApi {
 public:
  FakeNccl(std::unique_ptr<NcclMeeting> meeting, QueueOnStream queue);
  // CHECKs that all communicators were destroyed or aborted.
  ~FakeNccl() override;

  // Makes calls of this name ("ncclAllReduce") fail from now on; 0: succeed.
  void Fail(const std::string& call, Result error);
  int calls(const std::string& call) const;
  std::atomic<int> version = 22809;

  std::string ErrorText(Result result, Comm comm) const override;
  Result GetVersion(int* version) override;
  Result GetUniqueId(UniqueId* id) override;
  Result CommInitRank(Comm* comm, int size, const UniqueId& id,
                      int rank) override;
  Result CommGetAsyncError(Comm comm, Result* result) override;
  Result CommFinalize(Comm comm) override;
  Result CommDestroy(Comm comm) override;
  Result CommAbort(Comm comm) override;
  Result AllReduce(void* data, size_t count, DType dtype, ReduceOp op,
                   Comm comm, Stream stream) override;

 private:
  struct Rank;

  // Counts the call and returns the error with which it should fail.
  Result Called(const std::string& call);
  std::shared_ptr<Rank> Find(Comm comm);
  Result Release(Comm comm);

  const std::unique_ptr<NcclMeeting> meeting_;
  const QueueOnStream queue_;
  mutable std::mutex mutex_;
  std::map<std::string, Result> failures_;
  std::map<std::string, int> calls_;
  std::map<Comm, std::shared_ptr<Rank>> ranks_;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_COMM_NCCL_FAKE_NCCL_H_
