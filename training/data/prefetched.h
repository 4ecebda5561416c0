// Reads a dataset in order on its own thread, up to two samples ahead of the
// caller: the next batch is assembled while a step runs.
//
//   reader thread   | read 0 | read 1 | read 2 |  wait  | read 3 | ...
//   caller                   | Next() | step 0          | Next() | step 1 ...
#ifndef SPILLWAY_TRAINING_DATA_PREFETCHED_H_
#define SPILLWAY_TRAINING_DATA_PREFETCHED_H_

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/status/statusor.h"
#include "training/data/dataset.h"

namespace spillway {

// Threads: one caller. The dataset is borrowed.
class Prefetched {
 public:
  // Starts with sample `first`.
  explicit Prefetched(const Dataset& dataset, int64_t first = 0);
  ~Prefetched();
  Prefetched(const Prefetched&) = delete;
  Prefetched& operator=(const Prefetched&) = delete;

  // The next sample, owned by the caller; an empty batch after the last sample.
  // Errors: those of the dataset's Get for this sample; the next call continues
  // with the sample after it.
  absl::StatusOr<Batch> Next();

 private:
  using Slot = std::optional<absl::StatusOr<Batch>>;  // nullopt: to be read

  void ReadAll();

  const Dataset& dataset_;
  const int64_t size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Slot, 2> slots_;  // sample i goes to slots_[i % 2]
  const int64_t first_;
  int64_t next_;  // the caller's next sample
  bool stop_ = false;
  std::thread reader_;  // last: starts when all other members exist
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_PREFETCHED_H_
