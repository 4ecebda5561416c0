// Consecutive rows of a dataset as its one sample: every field gains a leading
// dimension of rows.
#ifndef SPILLWAY_TRAINING_LOOP_ROW_WINDOW_H_
#define SPILLWAY_TRAINING_LOOP_ROW_WINDOW_H_

#include <cstdint>
#include <vector>

#include "training/data/dataset.h"

namespace spillway {

class RowWindow : public Dataset {
 public:
  // Rows [begin, end) of `base`, which is borrowed, as they are in `epoch`;
  // 0 <= begin < end. After the last row, they go on with the first. Several
  // threads read them if `base` asks for it.
  RowWindow(const Dataset& base, int64_t begin, int64_t end, int64_t epoch);

  int64_t size() const override { return 1; }
  absl::Status status() const override { return base_.status(); }
  const std::vector<TensorType>& fields() const override { return fields_; }
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override;

 private:
  const Dataset& base_;
  const int64_t begin_;
  const int64_t end_;
  const int64_t epoch_;
  std::vector<TensorType> fields_;
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_LOOP_ROW_WINDOW_H_
