// Labelled images of equal size.
#ifndef SPILLWAY_TRAINING_DATA_IMAGE_DATASET_H_
#define SPILLWAY_TRAINING_DATA_IMAGE_DATASET_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "training/data/labelled_dataset.h"

namespace spillway {

// Maps a pixel of 0 .. 255 to (pixel / 255 - mean) / stddev; by default [0, 1].
struct PixelScaling {
  double mean = 0;
  double stddev = 1;

  float operator()(uint8_t pixel) const {
    const double value = static_cast<double>(pixel) / 255.0;
    return static_cast<float>((value - mean) / stddev);
  }

  // The scaled value of every pixel value.
  std::array<float, 256> Table() const {
    std::array<float, 256> scaled = {};
    for (size_t pixel = 0; pixel < scaled.size(); ++pixel) {
      scaled[pixel] = (*this)(static_cast<uint8_t>(pixel));
    }
    return scaled;
  }
};

// Fields: float32 [height, width, channels], and the label, int32 [].
class ImageDataset : public LabelledDataset {};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_IMAGE_DATASET_H_
