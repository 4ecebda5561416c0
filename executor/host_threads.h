// HostThreads: large loops of the host, shared out among threads that live as
// long as their owner, a session: first values of variables, copies of feeds.
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
  int64_t least_items = 1;  // worth a thread of their own
  int64_t most_parts = std::numeric_limits<int64_t>::max();
};

// Threads: one caller at a time.
class HostThreads {
 public:
  using Work = std::function<void(int64_t begin, int64_t end)>;

  // `threads` (at least 1) counts the caller's. The others start when a loop
  // first needs them.
  explicit HostThreads(int threads) : threads_(threads) {}
  ~HostThreads();
  HostThreads(const HostThreads&) = delete;
  HostThreads& operator=(const HostThreads&) = delete;

  // work(begin, end) for contiguous parts of [0, n), each on a thread of its
  // own, the first on the caller's; returns when all are done. How many parts
  // there are depends on the number of threads, so what `work` writes must not
  // depend on the parts. `work` does not throw.
  void Run(int64_t n, const PartLimits& limits, const Work& work);

 private:
  // With mutex_ held: tries to have `count` workers; returns how many there
  // are.
  int64_t StartWorkers(int64_t count);
  // The loop of a thread that takes part `part` of each job that has it.
  void Serve(int64_t part);

  const int64_t threads_;
  std::mutex mutex_;
  std::condition_variable job_changed_;
  std::condition_variable job_done_;
  // The present job; with mutex_ held.
  uint64_t job_ = 0;            // its number
  const Work* work_ = nullptr;  // null: stop
  int64_t items_ = 0;
  int64_t parts_ = 0;
  int64_t parts_left_ = 0;
  std::vector<std::jthread> workers_;  // last: they use the rest
};

// The same; on the calling thread alone where `threads` is null.
void RunInParts(HostThreads* threads, int64_t n, const PartLimits& limits,
                const HostThreads::Work& work);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_HOST_THREADS_H_
