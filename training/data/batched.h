// A dataset whose samples are batches of another dataset: every field gains a
// leading batch dimension.
#ifndef SPILLWAY_TRAINING_DATA_BATCHED_H_
#define SPILLWAY_TRAINING_DATA_BATCHED_H_

#include <cstdint>
#include <vector>

#include "training/data/dataset.h"

namespace spillway {

struct BatchOptions {
  int64_t batch_size = 1;
  // Whether to drop the samples left over after the last full batch (training),
  // or to put them in one more batch, filled up with samples from the start
  // (evaluation, which counts only the first valid_samples).
  bool drop_remainder = true;
  // How many threads read the samples of a batch (read_samples.h). 0: as many
  // as the dataset asks for.
  int reader_threads = 0;
  // Only the batches first, first + every, ...: the part of one of several
  // ranks.
  int64_t first = 0;
  int64_t every = 1;
};

class Batched : public Dataset {
 public:
  // Borrows `base`. With a batch size below 1 there are no batches. Requires:
  // first >= 0, every >= 1.
  Batched(const Dataset& base, const BatchOptions& options);

  int64_t size() const override;
  // INVALID_ARGUMENT for a batch size below 1; errors of `base`.
  absl::Status status() const override;
  const std::vector<TensorType>& fields() const override { return fields_; }
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override;
  absl::Status ReadInEpoch(int64_t epoch, int64_t index,
                           std::span<std::byte* const> buffers) const override;

  // The number of samples of batch `index` that no other batch has: the first
  // ones.
  int64_t valid_samples(int64_t index) const;

 private:
  // Of all batches, the number of this one.
  int64_t number(int64_t index) const {
    return options_.first + index * options_.every;
  }

  const Dataset& base_;
  BatchOptions options_;
  std::vector<TensorType> fields_;
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_BATCHED_H_
