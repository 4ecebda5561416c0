#include "training/data/mnist.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

// `folder`/`stem`, or the same with .gz.
absl::StatusOr<std::string> FindFile(const std::string& folder,
                                     std::string_view stem) {
  const std::string plain =
      (std::filesystem::path(folder) / std::string(stem)).string();
  for (const std::string& path : {plain, plain + ".gz"}) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path;
  }
  return NotFound(fmt::format(
      "'{}' has neither {} nor {}.gz; the data directory must hold the four "
      "files of MNIST (Debian's package dataset-fashion-mnist installs such a "
      "set in /usr/share/datasets/fashion-mnist)",
      folder, stem, stem));
}

absl::StatusOr<IdxArray> ReadArray(const std::string& path, size_t rank) {
  SPILLWAY_ASSIGN_OR_RETURN(IdxArray array, ReadIdxFile(path));
  if (array.dims.size() != rank) {
    return InvalidArgument(fmt::format("{}: at byte 3: rank {}, expected {}",
                                       path, array.dims.size(), rank));
  }
  return array;
}

absl::Status CheckLabels(const IdxArray& labels, const std::string& path) {
  constexpr size_t kHeaderBytes = 8;
  for (size_t i = 0; i < labels.values.size(); ++i) {
    if (labels.values[i] < Mnist::kNumClasses) continue;
    return InvalidArgument(fmt::format(
        "{}: at byte {}: label {}, expected 0 "
        "to {}",
        path, kHeaderBytes + i, labels.values[i], Mnist::kNumClasses - 1));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Mnist>> Mnist::Open(
    const std::string& folder, Split split, const PixelScaling& scaling) {
  const std::string_view prefix = split == Split::kTrain ? "train" : "t10k";
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::string images_path,
      FindFile(folder, fmt::format("{}-images-idx3-ubyte", prefix)));
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::string labels_path,
      FindFile(folder, fmt::format("{}-labels-idx1-ubyte", prefix)));
  SPILLWAY_ASSIGN_OR_RETURN(IdxArray images, ReadArray(images_path, 3));
  SPILLWAY_ASSIGN_OR_RETURN(IdxArray labels, ReadArray(labels_path, 1));
  SPILLWAY_RETURN_IF_ERROR(CheckLabels(labels, labels_path));
  if (images.dims[0] != labels.dims[0]) {
    return InvalidArgument(
        fmt::format("{}: at byte 4: {}, but {} in {}", images_path,
                    Counted(images.dims[0], "image"),
                    Counted(labels.dims[0], "label"), labels_path));
  }
  return std::unique_ptr<Mnist>(
      new Mnist(std::move(images), std::move(labels), scaling));
}

Mnist::Mnist(IdxArray images, IdxArray labels, const PixelScaling& scaling)
    : images_(std::move(images)),
      labels_(std::move(labels)),
      scaled_(scaling.Table()) {
  const Shape image = {images_.dims[1], images_.dims[2], 1};
  fields_ = {{.dtype = DType::kFloat32, .shape = image},
             {.dtype = DType::kInt32, .shape = Shape()}};
}

absl::Status Mnist::Read(int64_t index,
                         std::span<std::byte* const> buffers) const {
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  const auto pixels = static_cast<size_t>(fields_[0].num_elements());
  const auto sample = static_cast<size_t>(index);
  const uint8_t* from = images_.values.data() + sample * pixels;
  auto* image = reinterpret_cast<float*>(buffers[0]);
  for (size_t i = 0; i < pixels; ++i) image[i] = scaled_[from[i]];
  const int32_t label = labels_.values[sample];
  std::memcpy(buffers[1], &label, sizeof(label));
  return absl::OkStatus();
}

}  // namespace spillway
