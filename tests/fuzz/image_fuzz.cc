// Feeds arbitrary bytes to the decoders of JPEG and PNG, and makes samples of
// the images that they accept.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/random.h"
#include "tests/fuzz/fuzz_input.h"
#include "training/data/choose_crop.h"
#include "training/data/decode_image.h"
#include "training/data/resize_image.h"

// libFuzzer defines the name and the types.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kMostPixels = 1 << 16;
  constexpr int64_t kSample = 8;
  const std::string_view bytes = spillway::FuzzInput(data, size);
  const auto image = spillway::DecodeImage(bytes, "<fuzz>", kMostPixels);
  if (!image.ok()) return 0;
  SPILLWAY_CHECK(image->height > 0 && image->width > 0);
  SPILLWAY_CHECK(image->height * image->width <= kMostPixels);
  SPILLWAY_CHECK(static_cast<int64_t>(image->pixels.size()) ==
                 3 * image->height * image->width);
  using spillway::CropKind;
  for (const CropKind kind :
       {CropKind::kArea, CropKind::kPadded, CropKind::kCentre}) {
    const spillway::Crop crop = spillway::RandomCrop(
        {.height = image->height, .width = image->width, .sample = kSample},
        {.kind = kind}, spillway::HashName(bytes));
    const auto sample = spillway::ResizeImage(*image, crop);
    SPILLWAY_CHECK(sample.pixels.size() == size_t{3} * kSample * kSample);
  }
  return 0;
}
