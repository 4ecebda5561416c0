// Reads samples in order on its own thread, up to two ahead of the caller: the
// next batch is assembled while a step runs.
//
//   reader thread   | read 0 | read 1 | read 2 |  wait  | read 3 | ...
//   caller                   | Next() | step 0          | Next() | step 1 ...
#ifndef SPILLWAY_TRAINING_DATA_PREFETCHED_H_
#define SPILLWAY_TRAINING_DATA_PREFETCHED_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/status/statusor.h"
#include "training/data/dataset.h"

namespace spillway {

// Threads: one caller.
class Prefetched {
 public:
  // Each call of `read` returns the next sample, an empty batch after the last
  // one. Called on the reader's thread; must not throw.
  explicit Prefetched(std::function<absl::StatusOr<Batch>()> read);
  // The samples of a dataset, which is borrowed, from sample `first` on.
  explicit Prefetched(const Dataset& dataset, int64_t first = 0);
  ~Prefetched();
  Prefetched(const Prefetched&) = delete;
  Prefetched& operator=(const Prefetched&) = delete;

  // The next sample, owned by the caller; an empty batch after the last sample.
  // Errors: those of reading this sample (of the dataset's Get); the next call
  // continues with the sample after it.
  absl::StatusOr<Batch> Next();

 private:
  using Slot = std::optional<absl::StatusOr<Batch>>;  // nullopt: to be read

  void ReadAll();

  const std::function<absl::StatusOr<Batch>()> read_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Slot, 2> slots_;  // sample i goes to slots_[i % 2]
  size_t next_ = 0;            // the caller's next sample
  bool is_over_ = false;       // the caller has got the empty batch
  bool stop_ = false;
  std::thread reader_;  // last: starts when all other members exist
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_PREFETCHED_H_
