#include "benchmarks/micro/photograph.h"

#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "tests/support/make_image.h"

namespace spillway {
namespace {

constexpr int64_t kHeight = 375;
constexpr int64_t kWidth = 500;

// `split`: of the folder.
absl::Status Write(const std::string& split, int64_t number) {
  const std::string folder = fmt::format("{}/{}", split, number % 2);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::UnavailableError(
        fmt::format("{}: {}", folder, error.message()));
  }
  return WriteFileAtomically(
      fmt::format("{}/{}.jpg", folder, number),
      testing::MakeJpeg(Photograph(static_cast<uint64_t>(number))));
}

}  // namespace

RgbImage Photograph(uint64_t seed) {
  RgbImage image = testing::SmoothImage(kHeight, kWidth);
  const RgbImage noise = testing::NoisyImage(kHeight, kWidth, seed);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] =
        static_cast<uint8_t>((7 * image.pixels[i] + noise.pixels[i]) / 8);
  }
  return image;
}

absl::Status WritePhotographs(const std::string& folder, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    SPILLWAY_RETURN_IF_ERROR(Write(folder + "/train", i));
  }
  SPILLWAY_RETURN_IF_ERROR(Write(folder + "/val", count));
  return Write(folder + "/val", count + 1);
}

}  // namespace spillway
