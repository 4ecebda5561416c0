// Labelled images in a safetensors file, held in memory:
//
//   images  [N, height, width, channels], U8 (scaled) or F32 (as it is)
//   labels  [N], I32 or I64, each from 0 to num_classes - 1
//
// Other tensors are ignored. training/safetensors.h has the format; Python's
// safetensors.numpy.save_file({"images": x, "labels": y}, "train.safetensors")
// writes such a file.
#ifndef SPILLWAY_TRAINING_DATA_TENSOR_FILE_H_
#define SPILLWAY_TRAINING_DATA_TENSOR_FILE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/tensor.h"
#include "training/data/image_dataset.h"

namespace spillway {

struct TensorFileOptions {
  PixelScaling scaling = {};  // of U8 images
  // 0: one more than the largest label of the file. A test file may lack the
  // last classes: give it the num_classes() of the training file.
  int64_t num_classes = 0;
};

// Fields: float32 [height, width, channels] and int32 [].
class TensorFile : public ImageDataset {
 public:
  // Reads `folder`/train.safetensors or test.safetensors. Errors: NOT_FOUND
  // naming folder and file; those of OpenFile.
  static absl::StatusOr<std::unique_ptr<TensorFile>> Open(
      const std::string& folder, Split split,
      const TensorFileOptions& options = {});

  // Errors: those of ReadSafetensors; INVALID_ARGUMENT naming the file and the
  // tensor for a missing tensor, a wrong dtype or shape, and a label out of
  // range.
  static absl::StatusOr<std::unique_ptr<TensorFile>> OpenFile(
      const std::string& path, const TensorFileOptions& options = {});

  // The same from memory. `source` names the bytes in errors.
  static absl::StatusOr<std::unique_ptr<TensorFile>> Parse(
      std::string_view bytes, std::string_view source,
      const TensorFileOptions& options = {});

  int64_t num_classes() const override { return num_classes_; }
  int64_t size() const override;
  const std::vector<TensorType>& fields() const override { return fields_; }
  absl::Status Read(int64_t index,
                    std::span<std::byte* const> buffers) const override;

 private:
  TensorFile(HostTensor images, std::vector<int32_t> labels,
             const TensorFileOptions& options);

  HostTensor images_;
  std::vector<int32_t> labels_;
  int64_t num_classes_;
  std::vector<TensorType> fields_;
  std::array<float, 256> scaled_;  // by pixel
};

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_TENSOR_FILE_H_
