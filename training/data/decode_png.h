// PNG (ISO/IEC 15948), through libpng.
#ifndef SPILLWAY_TRAINING_DATA_DECODE_PNG_H_
#define SPILLWAY_TRAINING_DATA_DECODE_PNG_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "training/data/rgb_image.h"

namespace spillway {

bool IsPng(std::string_view bytes);

// As DecodeImage (decode_image.h); errors do not name the file. Of an
// animation, the default image is read.
absl::StatusOr<RgbImage> DecodePng(std::string_view bytes, int64_t max_pixels);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_DECODE_PNG_H_
