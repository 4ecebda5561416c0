// CIFAR-10 in its binary version: colour images of 32 x 32 in ten classes.
//
// A file is a list of records of 3,073 bytes: the label, then the red, the
// green and the blue plane, row by row. The training set is the files
// data_batch_1.bin to data_batch_5.bin, the test set test_batch.bin.
// Source: Krizhevsky, "Learning multiple layers of features from tiny images",
// 2009; layout as its distribution describes.
#ifndef SPILLWAY_TRAINING_DATA_CIFAR10_H_
#define SPILLWAY_TRAINING_DATA_CIFAR10_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "training/data/image_dataset.h"

namespace spillway {

class Cifar10 : public ImageDataset {
 public:
  static constexpr int64_t kSize = 32;
  static constexpr int64_t kChannels = 3;
  static constexpr int64_t kRecordBytes = 1 + kChannels * kSize * kSize;

  // Reads the files of `split` in `folder`. Files may hold any number of
  // records. Errors: NOT_FOUND naming folder and file; INVALID_ARGUMENT naming
  // file and byte for an empty file, a file that ends inside a record, and a
  // label above 9.
  static absl::StatusOr<std::unique_ptr<Cifar10>> Open(
      const std::string& folder, Split split, const PixelScaling& scaling = {});

  int64_t num_classes() const override { return 10; }
  int64_t size() const override;
  const std::vector<TensorType>& fields() const override { return fields_; }
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override;

 private:
  Cifar10(std::string records, const PixelScaling& scaling);

  std::string records_;
  std::vector<TensorType> fields_;
  std::array<float, 256> scaled_;  // by pixel
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_CIFAR10_H_
