// Large loops of the host, shared out among threads that live as long as the
// loop: before the first step, or where something waits for it.
#ifndef SPILLWAY_EXECUTOR_RUN_IN_PARTS_H_
#define SPILLWAY_EXECUTOR_RUN_IN_PARTS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

namespace spillway {

struct PartLimits {
  int64_t least_items = 1;  // worth a thread of their own
  int64_t most_parts = std::numeric_limits<int64_t>::max();
};

// fn(begin, end) for contiguous parts of [0, n), at most one for each core,
// each on a thread of its own but the first; returns when all are done.
template <typename Fn>
void RunInParts(int64_t n, const PartLimits& limits, const Fn& fn) {
  const int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const int64_t parts = std::clamp<int64_t>(n / limits.least_items, 1,
                                            std::min(cores, limits.most_parts));
  std::vector<std::jthread> threads;
  for (int64_t part = 1; part < parts; ++part) {
    threads.emplace_back(fn, n * part / parts, n * (part + 1) / parts);
  }
  fn(0, n / parts);
}

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_RUN_IN_PARTS_H_
