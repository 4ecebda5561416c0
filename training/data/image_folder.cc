#include "training/data/image_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/interval.h"
#include "base/log.h"
#include "base/random.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

constexpr int64_t kMaxSampleSize = 1 << 14;
constexpr int64_t kMaxMaxPixels = int64_t{1} << 32;
constexpr unsigned kMaxReaderThreads = 4;

absl::Status CheckImageFolderOptions(const ImageFolderOptions& options) {
  if (options.size < 1 || options.size > kMaxSampleSize) {
    return InvalidArgument(fmt::format("size {} must be from 1 to {} pixels",
                                       options.size, kMaxSampleSize));
  }
  if (options.max_pixels < 1 || options.max_pixels > kMaxMaxPixels) {
    return InvalidArgument(fmt::format("max_pixels {} must be from 1 to {}",
                                       options.max_pixels, kMaxMaxPixels));
  }
  return CheckCropOptions(options.crop);
}

// The key of the random numbers of one sample in one epoch.
uint64_t CropKey(uint64_t seed, int64_t epoch, int64_t index) {
  const uint64_t of_crops = MixKeys(seed, HashName("image_folder"));
  return MixKeys(MixKeys(of_crops, static_cast<uint64_t>(epoch)),
                 static_cast<uint64_t>(index));
}

// The samples with the label of sample `index`: files are sorted by label.
Interval SamplesOfClass(const ImageFiles& files, int64_t index) {
  const int32_t label = files.files[static_cast<size_t>(index)].label;
  const auto begin = files.files.begin();
  const auto [first, last] = std::equal_range(
      begin, files.files.end(), ImageFile{.label = label},
      [](const ImageFile& a, const ImageFile& b) { return a.label < b.label; });
  return {.begin = first - begin, .end = last - begin};
}

// Whether the file, and not the machine, is at fault.
bool IsFaultOfFile(const absl::Status& status) {
  return status.code() == absl::StatusCode::kInvalidArgument;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImageFolder>> ImageFolder::Open(
    const std::string& folder, Split split, const ImageFolderOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(CheckImageFolderOptions(options));
  SPILLWAY_ASSIGN_OR_RETURN(ImageFiles files,
                            ListImageFiles(folder, split, options.list));
  return std::unique_ptr<ImageFolder>(
      new ImageFolder(std::move(files), split, options));
}

ImageFolder::ImageFolder(ImageFiles files, Split split,
                         const ImageFolderOptions& options)
    : files_(std::move(files)),
      split_(split),
      options_(options),
      fields_({{.dtype = DType::kFloat32,
                .shape = {options.size, options.size, RgbImage::kChannels}},
               {.dtype = DType::kInt32, .shape = Shape()}}),
      scaled_(options.scaling.Table()) {}

int64_t ImageFolder::num_classes() const {
  return static_cast<int64_t>(files_.class_names.size());
}

int64_t ImageFolder::size() const {
  return static_cast<int64_t>(files_.files.size());
}

int ImageFolder::reader_threads() const {
  return static_cast<int>(
      std::clamp(std::thread::hardware_concurrency(), 1U, kMaxReaderThreads));
}

std::string ImageFolder::path(int64_t index) const {
  const std::string& name = files_.files[static_cast<size_t>(index)].name;
  return (std::filesystem::path(files_.folder) / name).string();
}

int64_t ImageFolder::num_skipped() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(skipped_.size());
}

absl::Status ImageFolder::Read(int64_t index,
                               std::span<std::byte* const> buffers) const {
  return ReadInEpoch(/*epoch=*/0, index, buffers);
}

absl::Status ImageFolder::ReadInEpoch(
    int64_t epoch, int64_t index, std::span<std::byte* const> buffers) const {
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  SPILLWAY_ASSIGN_OR_RETURN(const RgbImage image, DecodeOrReplace(index));
  const CropSizes sizes = {
      .height = image.height, .width = image.width, .sample = options_.size};
  const Crop crop = split_ == Split::kTrain
                        ? RandomCrop(sizes, options_.crop,
                                     CropKey(options_.seed, epoch, index))
                        : CentreCrop(sizes, options_.crop);
  const RgbImage sample = ResizeImage(image, crop);
  auto* to = reinterpret_cast<float*>(buffers[0]);
  for (const uint8_t pixel : sample.pixels) *to++ = scaled_[pixel];
  const int32_t label = files_.files[static_cast<size_t>(index)].label;
  std::memcpy(buffers[1], &label, sizeof(label));
  return absl::OkStatus();
}

absl::StatusOr<RgbImage> ImageFolder::DecodeFile(int64_t index) const {
  const std::string file = path(index);
  SPILLWAY_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(file));
  return DecodeImage(bytes, file, options_.max_pixels);
}

absl::StatusOr<RgbImage> ImageFolder::DecodeOrReplace(int64_t index) const {
  absl::StatusOr<RgbImage> image = DecodeFile(index);
  if (!options_.skip_corrupt) return image;
  const Interval others = SamplesOfClass(files_, index);
  int64_t replacement = index;
  while (!image.ok() && IsFaultOfFile(image.status())) {
    ReportSkipped(replacement, image.status());
    if (++replacement == others.end) replacement = others.begin;
    if (replacement == index) {
      return Annotate(image.status(),
                      "no image of the class can be decoded; the last error");
    }
    image = DecodeFile(replacement);
  }
  return image;
}

void ImageFolder::ReportSkipped(int64_t index,
                                const absl::Status& error) const {
  const std::lock_guard lock(mutex_);
  if (!skipped_.insert(index).second) return;
  spdlog::warn("another image of its class is read instead: {}",
               std::string(error.message()));
}

}  // namespace spillway
