// A folder of JPEG and PNG images, one subfolder per class (image_files.h has
// the layout). Images are decoded when they are read.
//
//   file -> DecodeImage -> RandomCrop or CentreCrop -> ResizeImage -> scaling
#ifndef SPILLWAY_TRAINING_DATA_IMAGE_FOLDER_H_
#define SPILLWAY_TRAINING_DATA_IMAGE_FOLDER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "training/data/choose_crop.h"
#include "training/data/decode_image.h"
#include "training/data/image_dataset.h"
#include "training/data/image_files.h"
#include "training/data/rgb_image.h"

namespace spillway {

struct ImageFolderOptions {
  int64_t size = 224;  // height and width of a sample, 1 to 16,384
  PixelScaling scaling = {};
  CropOptions crop = {};  // random for Split::kTrain, else CentreCrop
  uint64_t seed = 0;      // of the random crops
  ListImagesOptions list = {};
  int64_t max_pixels = kDefaultMaxPixels;  // of an image file; larger: an error
  // Whether an image that cannot be decoded is replaced, in each epoch, by the
  // next image of its class and split that can be (after the last, the first),
  // instead of an error. The crop is still that of the sample that was asked
  // for. The log names each such file once.
  bool skip_corrupt = false;
};

// Fields: float32 [size, size, 3] and int32 [].
//
// Random crops are a pure function of the seed, the epoch and the index of the
// sample. So are replacements of the files' contents. Neither depends on the
// order or the threads in which samples are read.
class ImageFolder : public ImageDataset {
 public:
  // Lists the files of `split` in `folder`, and opens none of them. Errors:
  // those of ListImageFiles; INVALID_ARGUMENT naming an option out of range.
  static absl::StatusOr<std::unique_ptr<ImageFolder>> Open(
      const std::string& folder, Split split,
      const ImageFolderOptions& options = {});

  int64_t num_classes() const override;
  int64_t size() const override;
  const std::vector<TensorType>& fields() const override { return fields_; }
  // The crop of epoch 0.
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override;
  // Errors: those of ReadFile and DecodeImage, which name the file.
  absl::Status ReadInEpoch(int64_t epoch, int64_t index,
                           std::span<std::byte* const> buffers) const override;
  // The number of CPUs, but at most 4.
  int reader_threads() const override;

  // By label.
  const std::vector<std::string>& class_names() const {
    return files_.class_names;
  }
  // The path of the file of sample `index`, which must exist.
  std::string path(int64_t index) const;
  // How many files were read so far that could not be decoded and were
  // replaced.
  int64_t num_skipped() const;

 private:
  ImageFolder(ImageFiles files, Split split, const ImageFolderOptions& options);

  absl::StatusOr<RgbImage> DecodeFile(int64_t index) const;
  absl::StatusOr<RgbImage> DecodeOrReplace(int64_t index) const;
  void ReportSkipped(int64_t index, const absl::Status& error) const;

  const ImageFiles files_;
  const Split split_;
  const ImageFolderOptions options_;
  std::vector<TensorType> fields_;
  std::array<float, 256> scaled_;  // by pixel
  mutable std::mutex mutex_;
  mutable std::set<int64_t> skipped_;  // by index; guarded by mutex_
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_IMAGE_FOLDER_H_
