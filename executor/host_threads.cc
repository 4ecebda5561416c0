#include "executor/host_threads.h"

#include <algorithm>
#include <iterator>
#include <system_error>

namespace spillway {

HostThreads::~HostThreads() {
  {
    const std::scoped_lock lock(mutex_);
    ++job_;
    work_ = nullptr;
  }
  job_changed_.notify_all();
}

void HostThreads::Run(int64_t n, const PartLimits& limits, const Work& work) {
  int64_t parts = std::clamp<int64_t>(
      n / std::max<int64_t>(1, limits.least_items), 1,
      std::max<int64_t>(1, std::min(threads_, limits.most_parts)));
  if (parts == 1) return work(0, n);
  std::unique_lock lock(mutex_);
  parts = std::min(parts, StartWorkers(parts - 1) + 1);
  ++job_;
  work_ = &work;
  items_ = n;
  parts_ = parts;
  parts_left_ = parts - 1;
  lock.unlock();
  job_changed_.notify_all();
  work(0, n / parts);
  lock.lock();
  job_done_.wait(lock, [&] { return parts_left_ == 0; });
}

int64_t HostThreads::StartWorkers(int64_t count) {
  while (std::ssize(workers_) < count) {
    const int64_t part = std::ssize(workers_) + 1;
    try {
      workers_.emplace_back([this, part] { Serve(part); });
    } catch (const std::system_error&) {
      break;  // the system has no more threads
    }
  }
  return std::ssize(workers_);
}

void HostThreads::Serve(int64_t part) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    // Thread `part` may start after job 1 was issued: no job has number 0.
    job_changed_.wait(lock, [&] { return job_ != seen; });
    seen = job_;
    if (work_ == nullptr) return;
    if (part >= parts_) continue;
    const Work& work = *work_;
    const int64_t begin = items_ * part / parts_;
    const int64_t end = items_ * (part + 1) / parts_;
    lock.unlock();
    work(begin, end);
    lock.lock();
    if (--parts_left_ == 0) job_done_.notify_one();
  }
}

void RunInParts(HostThreads* threads, int64_t n, const PartLimits& limits,
                const HostThreads::Work& work) {
  if (threads == nullptr) return work(0, n);
  threads->Run(n, limits, work);
}

}  // namespace spillway
