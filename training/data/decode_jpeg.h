// JPEG (ITU-T T.81), through libjpeg-turbo.
#ifndef SPILLWAY_TRAINING_DATA_DECODE_JPEG_H_
#define SPILLWAY_TRAINING_DATA_DECODE_JPEG_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "training/data/rgb_image.h"

namespace spillway {

bool IsJpeg(std::string_view bytes);

// As DecodeImage (decode_image.h); errors do not name the file. Additional
// errors: INVALID_ARGUMENT for more than 100 scans, with which a small
// progressive file can take minutes.
absl::StatusOr<RgbImage> DecodeJpeg(std::string_view bytes, int64_t max_pixels);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_DECODE_JPEG_H_
