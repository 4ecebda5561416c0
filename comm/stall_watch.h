// Notices calls that last unusually long, while they last.
#ifndef SPILLWAY_COMM_STALL_WATCH_H_
#define SPILLWAY_COMM_STALL_WATCH_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace spillway {

// Calls are made one at a time.
class StallWatch {
 public:
  // Called by a thread of the watch, during the call and at most once for it.
  using Report = std::function<void(int64_t call)>;

  // Reports calls that last `after`, at the latest a quarter later.
  StallWatch(std::chrono::milliseconds after, Report report);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // The thread starts with the first call.
  void Begin(int64_t call);
  // Waits for the end of a report.
  void End();

 private:
  using Clock = std::chrono::steady_clock;

  void Watch();

  const std::chrono::milliseconds after_;
  const Report report_;
  std::mutex mutex_;
  std::condition_variable changed_;  // for the end only
  bool ends_ = false;
  int64_t call_ = -1;  // -1: none, or reported
  Clock::time_point begun_;
  std::thread thread_;
};

}  // namespace spillway

#endif  // SPILLWAY_COMM_STALL_WATCH_H_
