#include "executor/host_threads.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace spillway {
namespace {

// Writes i * i to element i, and records the threads and the number of parts.
struct Squares {
  explicit Squares(int64_t n) : squares(static_cast<size_t>(n), -1) {}

  HostThreads::Work Work() {
    return [this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        squares[static_cast<size_t>(i)] += i * i + 1;
      }
      const std::scoped_lock lock(mutex);
      threads.insert(std::this_thread::get_id());
      ++parts;
    };
  }

  void ExpectDone(int64_t times) const {
    for (size_t i = 0; i < squares.size(); ++i) {
      const auto square = static_cast<int64_t>(i * i);
      ASSERT_EQ(squares[i], times * (square + 1) - 1) << i;
    }
  }

  std::vector<int64_t> squares;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  int64_t parts = 0;
};

TEST(HostThreadsTest, EveryItemIsDoneOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    for (const int64_t n : {0, 1, 2, 6, 7, 8, 1000}) {
      Squares squares(n);
      HostThreads host_threads(threads);
      host_threads.Run(n, {}, squares.Work());
      squares.ExpectDone(1);
      EXPECT_LE(squares.threads.size(), static_cast<size_t>(threads));
    }
  }
}

TEST(HostThreadsTest, ThreadsStayFromLoopToLoop) {
  HostThreads host_threads(4);
  Squares squares(100);
  constexpr int64_t kLoops = 200;
  for (int64_t loop = 0; loop < kLoops; ++loop) {
    // With 1 to 4 parts: some threads have no part in some loops.
    host_threads.Run(100, {.most_parts = loop % 4 + 1}, squares.Work());
  }
  squares.ExpectDone(kLoops);
  EXPECT_EQ(squares.threads.size(), 4u);
  EXPECT_EQ(squares.parts, kLoops / 4 * (1 + 2 + 3 + 4));
}

TEST(HostThreadsTest, SmallLoopsStayOnTheCaller) {
  HostThreads host_threads(4);
  Squares squares(99);
  host_threads.Run(99, {.least_items = 50}, squares.Work());
  squares.ExpectDone(1);
  EXPECT_EQ(squares.threads, std::set{std::this_thread::get_id()});
}

TEST(HostThreadsTest, WithoutThreadsTheCallerDoesAll) {
  Squares squares(1000);
  RunInParts(nullptr, 1000, {}, squares.Work());
  squares.ExpectDone(1);
  EXPECT_EQ(squares.threads, std::set{std::this_thread::get_id()});
}

}  // namespace
}  // namespace spillway
