// Decodes a JPEG or PNG file to RGB. The format is recognised by the content,
// not by the name of the file.
#ifndef SPILLWAY_TRAINING_DATA_DECODE_IMAGE_H_
#define SPILLWAY_TRAINING_DATA_DECODE_IMAGE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "training/data/rgb_image.h"

namespace spillway {

// 89,478,485 pixels: 256 MiB as RGB. A photograph of 80 megapixels fits; a file
// of a few bytes that claims 60,000 x 60,000 pixels does not.
constexpr int64_t kDefaultMaxPixels = (int64_t{1} << 28) / 3;

// Decodes a whole image. `source` names the bytes in errors. Conversions:
//   grey         each channel gets the grey value
//   palette      the palette's colours
//   16 bits      round(value * 255 / 65535)
//   alpha, tRNS  dropped: a transparent pixel keeps its stored colour
//   CMYK, YCCK   red = cyan * black / 255, and so on, for Adobe's inverted
//                values (0 is full ink); without Adobe's marker the values are
//                inverted first
// Embedded colour profiles, PNG's gamma and EXIF's orientation are ignored.
//
// Memory: 3 bytes per pixel; 6 to 9 more while a progressive JPEG is decoded.
// No memory of the image's size is allocated before its header has been
// checked. Errors: INVALID_ARGUMENT naming `source` for other formats, more
// than `max_pixels` pixels, and damaged or truncated data, even if the
// libraries could guess the missing pixels. RESOURCE_EXHAUSTED if a library
// runs out of memory. Throws std::bad_alloc if the image does not fit in
// memory.
absl::StatusOr<RgbImage> DecodeImage(std::string_view bytes,
                                     std::string_view source,
                                     int64_t max_pixels = kDefaultMaxPixels);

// INVALID_ARGUMENT if an image of this size is larger than `max_pixels`, or is
// empty. Both sides are below 2^31.
absl::Status CheckImageSize(int64_t height, int64_t width, int64_t max_pixels);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_DECODE_IMAGE_H_
