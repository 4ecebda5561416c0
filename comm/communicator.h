// Communicator: collective operations among the ranks of one run.
//
//   rank 0   [ 1  2  3]                          [11 22 33]
//   rank 1   [10 20 30]  --- AllReduce, sum -->  [11 22 33]
//
// All ranks make the same calls in the same order, with the same sizes. Memory
// is the host's; for that of GPUs see StreamCollectives. A call returns when
// its result is there: what overlaps with it is the caller's decision (the
// plan's communication lane, executor/plan/plan.h).
//
// Every rank has the same bits after an all-reduce. With the backends self and
// thread, and with CommOptions::deterministic_reduce, a sum is added in the
// order of the ranks, each partial sum rounded to the type; other backends may
// add in another order. bfloat16 and float16 are added in float32 and rounded
// once for each addition that a backend makes.
//
// Errors: what a rank has learned of the others.
//   UNAVAILABLE        a rank was lost
//   DEADLINE_EXCEEDED  a rank was late: no result within CommOptions::timeout
//   ABORTED            the ranks' calls differ, or a rank has called Abort
// After an error, the communicator is of no more use: every later call returns
// it too. Messages name the call, its number and its size.
//
// Threads: one call at a time; Abort and statistics from any thread.
// Source: the operations are those of MPI 4.0, chapter 6.
#ifndef SPILLWAY_COMM_COMMUNICATOR_H_
#define SPILLWAY_COMM_COMMUNICATOR_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/reduce_op.h"
#include "comm/stall_watch.h"
#include "comm/stream_collectives.h"
#include "graph/dtype.h"

namespace spillway {

struct CommInfo {
  int rank = 0;
  int size = 1;        // number of ranks
  int local_rank = 0;  // among those of the same host
  int local_size = 1;
  std::string backend = {};  // "self", "thread", "gloo", "mpi", "nccl"
  std::string version = {};  // of its library; empty: it has none
};

struct CommOptions {
  // Of one call.
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  // All-reduce by an all-gather and a sum in the order of the ranks: the same
  // bits with every backend, at size() times the traffic.
  bool deterministic_reduce = false;
  // A call that lasts so long is reported in the log, with the ranks that have
  // not come to it, where the backend can tell (gloo).
  std::chrono::milliseconds warn_after = std::chrono::minutes(1);
  // Before each call, the ranks compare their calls: a difference is ABORTED
  // instead of a hang or a wrong result.
  bool check_calls = false;
  // Tries out a slower network: each call lasts, after its result is there, as
  // long as a ring of links of so many bytes per second in each direction would
  // take for it. 0: it does not.
  double slow_bytes_per_second = 0;
};

struct CommStatistics {
  int64_t calls = 0;
  int64_t bytes = 0;           // of this rank's inputs
  int64_t gathered_bytes = 0;  // the part of all-gathers
  int64_t wait_ns = 0;         // in calls
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  const CommInfo& info() const { return info_; }
  int rank() const { return info_.rank; }
  int size() const { return info_.size; }

  // data[i] <- the sum (largest, smallest) over all ranks of their data[i].
  // INVALID_ARGUMENT for bool.
  absl::Status AllReduce(void* data, int64_t count, DType dtype,
                         ReduceOp op = ReduceOp::kSum);

  // data <- that of `root`.
  absl::Status Broadcast(void* data, int64_t bytes, int root);

  // out, size() * bytes <- the `in` of each rank, in order of ranks. They do
  // not overlap.
  absl::Status AllGather(const void* in, void* out, int64_t bytes);

  // The same for texts of any length, by rank. INVALID_ARGUMENT above 64 MiB.
  absl::StatusOr<std::vector<std::string>> AllGatherText(std::string_view text);

  // Returns when all ranks have called it.
  absl::Status Barrier();

  // Ends the communication: calls of this rank return `reason`, and those of
  // the other ranks fail soon, if they wait for this one. Never blocks.
  void Abort(const absl::Status& reason);

  // Why a rank has ended the run, as far as that can be learned without a call;
  // OK: none has, or the backend cannot tell (gloo can). Takes up to a second.
  // Any thread, also during a call.
  virtual absl::Status FindEnd() const { return absl::OkStatus(); }

  // Collectives on the memory of GPUs; null: there are none, and what ranks
  // exchange goes through the host's memory.
  StreamCollectives* streams() const { return streams_.get(); }
  // Before the first call of them. Abort and statistics are theirs too.
  void SetStreams(std::unique_ptr<StreamCollectives> streams);

  CommStatistics statistics() const;

 protected:
  Communicator(CommInfo info, const CommOptions& options);

  const CommOptions& options() const { return options_; }

  // The same for a backend: sizes are positive, `dtype` is not bool, the size
  // of a call is at most kMaxCallBytes, and no earlier call has failed.
  virtual absl::Status DoAllReduce(void* data, int64_t count, DType dtype,
                                   ReduceOp op) = 0;
  virtual absl::Status DoBroadcast(void* data, int64_t bytes, int root) = 0;
  virtual absl::Status DoAllGather(const void* in, void* out,
                                   int64_t bytes) = 0;
  virtual absl::Status DoBarrier() = 0;
  virtual void DoAbort(const absl::Status& reason) = 0;
  // The ranks that have not come to the call of this number, in which this rank
  // has waited for long; empty: unknown. Called by another thread, during the
  // call. Takes a few seconds at most.
  virtual std::vector<int> FindLate(int64_t /*call*/) { return {}; }

  // The number of the running call; from 1.
  int64_t call_number() const;

  // Larger calls are divided: some backends count with 32 bits.
  static constexpr int64_t kMaxCallBytes = int64_t{1} << 30;

 private:
  struct Call;
  template <typename Work>
  absl::Status Run(const Call& call, const Work& work);
  absl::Status CompareCalls(const Call& call);
  void SlowDown(const Call& call);
  void ReportStall(int64_t call);
  absl::Status ReduceInOrder(std::byte* data, int64_t count, DType dtype,
                             ReduceOp op);

  const CommInfo info_;
  const CommOptions options_;
  mutable std::mutex mutex_;
  absl::Status status_;            // the first error; guarded by mutex_
  CommStatistics statistics_;      // guarded by mutex_
  const Call* running_ = nullptr;  // between Begin and End of stall_watch_
  std::unique_ptr<StreamCollectives> streams_;
  StallWatch stall_watch_;  // last: its thread uses the others
};

// "rank 2", "ranks 1, 3".
std::string RankNames(const std::vector<int>& ranks);

// Of a run, or without a communicator: rank 0 of 1.
inline int RankOf(const Communicator* communicator) {
  return communicator == nullptr ? 0 : communicator->rank();
}
inline int WorldSizeOf(const Communicator* communicator) {
  return communicator == nullptr ? 1 : communicator->size();
}

// The part of the host's cores that a rank has, at least one.
int ThreadsOfRank(const Communicator& communicator);

}  // namespace spillway

#endif  // SPILLWAY_COMM_COMMUNICATOR_H_
