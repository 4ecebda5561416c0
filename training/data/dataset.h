// Dataset: a finite list of samples, each a fixed set of fields (an image and
// its label). Wrappers (batched.h, shuffled.h) are datasets over a dataset.
#ifndef SPILLWAY_TRAINING_DATA_DATASET_H_
#define SPILLWAY_TRAINING_DATA_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/tensor_type.h"
#include "training/data/batch.h"

namespace spillway {

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;

  // The reason if no sample can be read (a batch size of 0, for example). Get
  // and the trainer return it before they read.
  virtual absl::Status status() const { return absl::OkStatus(); }

  // Types of a sample's fields. Image sets: float32 [height, width, channels],
  // then the label, an int32 scalar.
  virtual const std::vector<TensorType>& fields() const = 0;

  // Writes field f of sample `index` to buffers[f], which has room for it.
  // Thread-safe: any number of concurrent calls. Errors: INVALID_ARGUMENT
  // unless 0 <= index < size() (CheckIndex).
  virtual absl::Status Read(int64_t index,
                            std::span<std::byte* const> buffers) const = 0;

  // The same in one epoch of a training, counted from 0. A dataset that changes
  // its samples at random (crops, for example) changes them in another way in
  // each epoch, and its Read is epoch 0. Wrappers pass the epoch on. By
  // default, Read.
  virtual absl::Status ReadInEpoch(int64_t epoch, int64_t index,
                                   std::span<std::byte* const> buffers) const;

  // On how many threads a batch should be read (read_samples.h): more than 1 if
  // reading one sample takes much longer than starting a thread.
  virtual int reader_threads() const { return 1; }

  // Sample `index` in its own memory, which is never overwritten. Errors:
  // status(); INVALID_ARGUMENT for a sample that does not exist, or a field
  // that CheckShape refuses; errors of Read. RESOURCE_EXHAUSTED for a sample
  // larger than the memory; INTERNAL if Read throws anything else.
  absl::StatusOr<Batch> Get(int64_t index) const;
};

// The types of the fields of `rows` samples together: each with a leading
// dimension of rows.
std::vector<TensorType> FieldsOfRows(const Dataset& dataset, int64_t rows);

// INVALID_ARGUMENT unless 0 <= index < size().
absl::Status CheckIndex(const Dataset& dataset, int64_t index);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_DATASET_H_
