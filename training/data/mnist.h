// MNIST and data sets of the same format (Fashion-MNIST): grey images in ten
// classes, held in memory as bytes and returned as float32. Debian's
// package dataset-fashion-mnist puts its files into
// /usr/share/datasets/fashion-mnist.
#ifndef SPILLWAY_TRAINING_DATA_MNIST_H_
#define SPILLWAY_TRAINING_DATA_MNIST_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "training/data/idx.h"
#include "training/data/image_dataset.h"

namespace spillway {

class Mnist : public ImageDataset {
 public:
  static constexpr int kNumClasses = 10;

  // Reads `folder`/train-images-idx3-ubyte and train-labels-idx1-ubyte, or
  // t10k-..., each plain or with .gz. Errors: NOT_FOUND naming folder and file;
  // INVALID_ARGUMENT naming the file for anything that idx.h refuses, a wrong
  // rank, a label above 9, or different counts of images and labels.
  static absl::StatusOr<std::unique_ptr<Mnist>> Open(
      const std::string& folder, Split split, const PixelScaling& scaling = {});

  int64_t num_classes() const override { return kNumClasses; }
  int64_t size() const override { return images_.dims[0]; }
  // float32 [height, width, 1] and int32 [].
  const std::vector<TensorType>& fields() const override { return fields_; }
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override;

 private:
  Mnist(IdxArray images, IdxArray labels, const PixelScaling& scaling);

  IdxArray images_;
  IdxArray labels_;
  std::vector<TensorType> fields_;
  std::array<float, 256> scaled_;  // by pixel
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_MNIST_H_
