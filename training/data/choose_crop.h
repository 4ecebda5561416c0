// Chooses the crop of an image that becomes a sample: at random for training,
// in the centre for evaluation.
#ifndef SPILLWAY_TRAINING_DATA_CHOOSE_CROP_H_
#define SPILLWAY_TRAINING_DATA_CHOOSE_CROP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "training/data/resize_image.h"

namespace spillway {

enum class CropKind : uint8_t {
  // A rectangle of random area, shape and place, resized to the sample. Source:
  // Szegedy et al., "Going deeper with convolutions", CVPR 2015, section 6. The
  // logarithm of the aspect ratio is uniform. After ten rectangles that do not
  // fit: the largest one in the centre whose shape is allowed.
  kArea,
  // The image's shorter side is resized to the sample's, `padding` black pixels
  // are added to each side, and a square at a random place is cut out. Source:
  // He et al., "Deep residual learning for image recognition", CVPR 2016,
  // section 4.2.
  kPadded,
  // As for evaluation: CentreCrop.
  kCentre,
};

struct CropOptions {
  CropKind kind = CropKind::kArea;
  double min_area = 0.08;  // of kArea, as fractions of the image's
  double max_area = 1;
  double min_aspect = 3.0 / 4;  // of kArea: width / height
  double max_aspect = 4.0 / 3;
  int64_t padding = 4;  // of kPadded, in pixels of the sample
  bool flip = true;     // mirror every second sample, of any kind
  // Shorter side of the resized image / side of the sample, of kCentre and in
  // evaluation.
  double centre_ratio = 256.0 / 224;
};

// INVALID_ARGUMENT naming the field, for numbers out of order or range.
absl::Status CheckCropOptions(const CropOptions& options);

// An image, and the square sample that it becomes, in pixels.
struct CropSizes {
  int64_t height = 1;
  int64_t width = 1;
  int64_t sample = 1;
};

// A pure function of its arguments: `key` is the key of its random numbers
// (base/random.h). `options` pass CheckCropOptions.
Crop RandomCrop(const CropSizes& sizes, const CropOptions& options,
                uint64_t key);

// The shorter side is resized to sample * options.centre_ratio, and the square
// in the centre is kept.
Crop CentreCrop(const CropSizes& sizes, const CropOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_CHOOSE_CROP_H_
