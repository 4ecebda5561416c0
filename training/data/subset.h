// Consecutive samples of a dataset as a dataset.
#ifndef SPILLWAY_TRAINING_DATA_SUBSET_H_
#define SPILLWAY_TRAINING_DATA_SUBSET_H_

#include <cstdint>
#include <vector>

#include "training/data/dataset.h"

namespace spillway {

class Subset : public Dataset {
 public:
  // Samples [begin, end) of `base`, which is borrowed; 0 <= begin <= end <= its
  // size.
  Subset(const Dataset& base, int64_t begin, int64_t end)
      : base_(base), begin_(begin), end_(end) {}

  int64_t size() const override { return end_ - begin_; }
  absl::Status status() const override { return base_.status(); }
  const std::vector<TensorType>& fields() const override {
    return base_.fields();
  }
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override;
  absl::Status ReadInEpoch(int64_t epoch, int64_t index,
                           std::span<std::byte* const> buffers) const override;
  int reader_threads() const override { return base_.reader_threads(); }

 private:
  const Dataset& base_;
  const int64_t begin_;
  const int64_t end_;
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_SUBSET_H_
