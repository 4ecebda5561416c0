// HostThreads: splits large loops on the host among threads that live as long
// as their owner, a session. Used for initial values of variables and copies of
// feeds.
#ifndef SPILLWAY_EXECUTOR_HOST_THREADS_H_
#define SPILLWAY_EXECUTOR_HOST_THREADS_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace spillway {

struct PartLimits {
  int64_t least_items = 1;  // fewest items that are worth a separate thread
  int64_t most_parts = std::numeric_limits<int64_t>::max();
};

// Threads: one caller at a time.
class HostThreads {
 public:
  using Work = std::function<void(int64_t begin, int64_t end)>;

  // `threads` (at least 1) includes the caller's. The other threads start when
  // a loop first needs them.
  explicit HostThreads(int threads) : threads_(threads) {}
  ~HostThreads();
  HostThreads(const HostThreads&) = delete;
  HostThreads& operator=(const HostThreads&) = delete;

  // Calls work(begin, end) for contiguous parts of [0, n), each on its own
  // thread, the first on the caller's; returns when all are done. The number of
  // parts depends on the number of threads, so the output of `work` must not
  // depend on the split. `work` must not throw.
  void Run(int64_t n, const PartLimits& limits, const Work& work);

 private:
  // Tries to have `count` workers; returns the number of workers. mutex_ must
  // be held.
  int64_t StartWorkers(int64_t count);
  // The loop of the thread that takes part `part` of each job that has this
  // part.
  void Serve(int64_t part);

  const int64_t threads_;
  std::mutex mutex_;
  std::condition_variable job_changed_;
  std::condition_variable job_done_;
  // The current job; guarded by mutex_.
  uint64_t job_ = 0;            // its number
  const Work* work_ = nullptr;  // null: stop
  int64_t items_ = 0;
  int64_t parts_ = 0;
  int64_t parts_left_ = 0;
  std::vector<std::jthread> workers_;  // last: they use the other members
};

// The same; if `threads` is null, on the calling thread alone.
void RunInParts(HostThreads* threads, int64_t n, const PartLimits& limits,
                const HostThreads::Work& work);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_HOST_THREADS_H_
