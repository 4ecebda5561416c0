#include "comm/stall_watch.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "gmock/gmock.h"

namespace spillway {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

// What a watch has reported.
class Reports {
 public:
  void Add(int64_t call) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(call);
  }
  std::vector<int64_t> calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  void WaitFor(size_t count) {
    while (calls().size() < count) std::this_thread::yield();
  }

 private:
  std::mutex mutex_;
  std::vector<int64_t> calls_;
};

TEST(StallWatchTest, ReportsACallOnceWhileItLasts) {
  Reports reports;
  StallWatch watch(milliseconds(20), [&](int64_t call) { reports.Add(call); });
  watch.Begin(7);
  reports.WaitFor(1);  // or the test hangs
  std::this_thread::sleep_for(milliseconds(60));
  watch.End();
  watch.Begin(8);
  reports.WaitFor(2);
  watch.End();
  EXPECT_THAT(reports.calls(), ElementsAre(7, 8));
}

TEST(StallWatchTest, ReportsNoCallThatHasEnded) {
  Reports reports;
  {
    StallWatch watch(std::chrono::hours(1),
                     [&](int64_t call) { reports.Add(call); });
    for (int call = 0; call < 1000; ++call) {
      watch.Begin(call);
      watch.End();
    }
  }  // ends at once
  EXPECT_THAT(reports.calls(), ElementsAre());
}

TEST(StallWatchTest, ACallEndsAfterItsReport) {
  std::atomic<bool> is_reporting = false;
  std::atomic<bool> has_reported = false;
  StallWatch watch(milliseconds(1), [&](int64_t) {
    is_reporting = true;
    std::this_thread::sleep_for(milliseconds(50));
    has_reported = true;
  });
  watch.Begin(1);
  while (!is_reporting) std::this_thread::yield();
  watch.End();
  EXPECT_TRUE(has_reported);
}

TEST(StallWatchTest, MayNeverSeeACall) {
  const StallWatch watch(milliseconds(1), [](int64_t) { FAIL(); });
}

}  // namespace
}  // namespace spillway
