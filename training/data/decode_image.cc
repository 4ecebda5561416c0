#include "training/data/decode_image.h"

#include <fmt/format.h>

#include "base/status_macros.h"
#include "training/data/decode_jpeg.h"
#include "training/data/decode_png.h"

namespace spillway {
namespace {

absl::StatusOr<RgbImage> DecodeByContent(std::string_view bytes,
                                         int64_t max_pixels) {
  if (bytes.empty()) return InvalidArgument("the file is empty");
  if (IsJpeg(bytes)) return DecodeJpeg(bytes, max_pixels);
  if (IsPng(bytes)) return DecodePng(bytes, max_pixels);
  return InvalidArgument(
      "is neither a JPEG nor a PNG image, whatever its name says");
}

}  // namespace

absl::Status CheckImageSize(int64_t height, int64_t width, int64_t max_pixels) {
  if (height > 0 && width > 0 && height * width <= max_pixels) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      fmt::format("the header claims {} x {} pixels; at most {} pixels are "
                  "decoded (max_pixels)",
                  width, height, max_pixels));
}

absl::StatusOr<RgbImage> DecodeImage(std::string_view bytes,
                                     std::string_view source,
                                     int64_t max_pixels) {
  absl::StatusOr<RgbImage> image = DecodeByContent(bytes, max_pixels);
  if (!image.ok()) return Annotate(image.status(), source);
  return image;
}

}  // namespace spillway
