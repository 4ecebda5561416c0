// Reads a dataset from front to back on a thread of its own, one sample ahead
// of the caller: the next batch is put together while a step runs.
//
//   reader thread   | read 0 -> A | read 1 -> B |  wait   | read 2 -> A |
//   caller                        | Next() = A  | step 0  | Next() = B ...
#ifndef SPILLWAY_TRAINING_DATA_PREFETCHED_H_
#define SPILLWAY_TRAINING_DATA_PREFETCHED_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/tensor.h"
#include "training/data/dataset.h"

namespace spillway {

// Threads: one caller. The dataset is borrowed.
class Prefetched {
 public:
  explicit Prefetched(const Dataset& dataset);
  ~Prefetched();
  Prefetched(const Prefetched&) = delete;
  Prefetched& operator=(const Prefetched&) = delete;

  // The fields of the next sample, valid until the next call; an empty list
  // after the last one. Errors: what the dataset's Read says.
  absl::StatusOr<std::vector<TensorView>> Next();

 private:
  struct Slot {
    std::vector<std::vector<std::byte>> fields;
    absl::Status status;
    bool is_full = false;
  };

  void ReadAll();

  const Dataset& dataset_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Slot, 2> slots_;  // sample i is read into slots_[i % 2]
  int64_t next_ = 0;           // the caller's
  bool stop_ = false;
  std::thread reader_;  // last: starts when all else is there
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_PREFETCHED_H_
