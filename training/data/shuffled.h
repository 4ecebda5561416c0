// The samples of a dataset in a random order, a function of seed and epoch.
// Random changes of the samples are those of the same epoch.
#ifndef SPILLWAY_TRAINING_DATA_SHUFFLED_H_
#define SPILLWAY_TRAINING_DATA_SHUFFLED_H_

#include <cstdint>
#include <vector>

#include "training/data/dataset.h"

namespace spillway {

struct ShuffleOptions {
  uint64_t seed = 0;
  int64_t epoch = 0;
};

// A random permutation of 0 .. size - 1; empty if size is below 1. Throws
// std::bad_alloc or std::length_error if it does not fit in memory.
// Source: Durstenfeld, CACM 7(7), 1964 (Fisher and Yates).
std::vector<int64_t> RandomPermutation(int64_t size,
                                       const ShuffleOptions& options);

// Borrows `base`. Cost: O(size) time and memory to construct; reading a sample
// costs as much as in `base`.
class Shuffled : public Dataset {
 public:
  Shuffled(const Dataset& base, const ShuffleOptions& options);

  int64_t size() const override { return base_.size(); }
  // RESOURCE_EXHAUSTED if the order does not fit in memory; errors of `base`.
  absl::Status status() const override;
  const std::vector<TensorType>& fields() const override {
    return base_.fields();
  }
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override;
  int reader_threads() const override { return base_.reader_threads(); }

 private:
  const Dataset& base_;
  const int64_t epoch_;
  std::vector<int64_t> order_;  // empty where it does not fit in memory
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_SHUFFLED_H_
