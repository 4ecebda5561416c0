#include "training/data/tensor_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/counted.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "training/safetensors.h"

namespace spillway {
namespace {

constexpr int64_t kMaxClasses = std::numeric_limits<int32_t>::max();

absl::StatusOr<HostTensor> TakeTensor(TensorMap& tensors,
                                      const std::string& name) {
  const auto found = tensors.find(name);
  if (found != tensors.end()) return std::move(found->second);
  std::string names;
  for (const auto& [other, tensor] : tensors) {
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", other);
  }
  return InvalidArgument(fmt::format(
      "has no tensor '{}'; images and labels are needed, and it has {}", name,
      names.empty() ? "none" : names));
}

absl::Status CheckImages(const TensorType& type) {
  const bool is_pixels =
      type.dtype == DType::kUInt8 || type.dtype == DType::kFloat32;
  if (is_pixels && type.shape.rank() == 4) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("images: {}, expected uint8 or float32 of "
                  "[N, height, width, channels]",
                  type.ToString()));
}

// The labels as int32. `num_classes`: 0 for any number.
template <typename Label>
absl::StatusOr<std::vector<int32_t>> ConvertLabels(const HostTensor& labels,
                                                   int64_t num_classes) {
  const int64_t most = num_classes == 0 ? kMaxClasses : num_classes;
  SPILLWAY_ASSIGN_OR_RETURN(const std::span<const Label> values,
                            labels.span<Label>());
  std::vector<int32_t> converted;
  converted.reserve(values.size());
  for (const Label value : values) {
    if (value < 0 || value >= most) {
      return InvalidArgument(
          fmt::format("labels: element {} is {}, expected "
                      "0 to {}",
                      converted.size(), value, most - 1));
    }
    converted.push_back(static_cast<int32_t>(value));
  }
  return converted;
}

absl::StatusOr<std::vector<int32_t>> LabelsOf(const HostTensor& labels,
                                              int64_t num_classes) {
  if (labels.type.shape.rank() == 1) {
    if (labels.type.dtype == DType::kInt32) {
      return ConvertLabels<int32_t>(labels, num_classes);
    }
    if (labels.type.dtype == DType::kInt64) {
      return ConvertLabels<int64_t>(labels, num_classes);
    }
  }
  return InvalidArgument(fmt::format(
      "labels: {}, expected int32 or int64 of [N]", labels.type.ToString()));
}

struct LabelledImages {
  HostTensor images = {};
  std::vector<int32_t> labels = {};
};

absl::StatusOr<LabelledImages> TakeImages(TensorMap& tensors,
                                          int64_t num_classes) {
  LabelledImages taken;
  SPILLWAY_ASSIGN_OR_RETURN(taken.images, TakeTensor(tensors, "images"));
  SPILLWAY_ASSIGN_OR_RETURN(const HostTensor labels,
                            TakeTensor(tensors, "labels"));
  SPILLWAY_RETURN_IF_ERROR(CheckImages(taken.images.type));
  SPILLWAY_ASSIGN_OR_RETURN(taken.labels, LabelsOf(labels, num_classes));
  const int64_t num_images = taken.images.type.shape.dim(0);
  const auto num_labels = static_cast<int64_t>(taken.labels.size());
  if (num_images == num_labels) return taken;
  return InvalidArgument(fmt::format("{}, but {}", Counted(num_images, "image"),
                                     Counted(num_labels, "label")));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TensorFile>> TensorFile::Parse(
    std::string_view bytes, std::string_view source,
    const TensorFileOptions& options) {
  if (options.num_classes < 0 || options.num_classes > kMaxClasses) {
    return InvalidArgument(fmt::format("num_classes {} must be from 0 to {}",
                                       options.num_classes, kMaxClasses));
  }
  SPILLWAY_ASSIGN_OR_RETURN(TensorMap tensors, ParseSafetensors(bytes, source));
  absl::StatusOr<LabelledImages> taken =
      TakeImages(tensors, options.num_classes);
  if (!taken.ok()) return Annotate(taken.status(), source);
  return std::unique_ptr<TensorFile>(new TensorFile(
      std::move(taken->images), std::move(taken->labels), options));
}

absl::StatusOr<std::unique_ptr<TensorFile>> TensorFile::OpenFile(
    const std::string& path, const TensorFileOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  return Parse(bytes, path, options);
}

absl::StatusOr<std::unique_ptr<TensorFile>> TensorFile::Open(
    const std::string& folder, Split split, const TensorFileOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string path,
                            FindSplitFile(folder, split, "safetensors"));
  return OpenFile(path, options);
}

TensorFile::TensorFile(HostTensor images, std::vector<int32_t> labels,
                       const TensorFileOptions& options)
    : images_(std::move(images)),
      labels_(std::move(labels)),
      num_classes_(options.num_classes),
      scaled_(options.scaling.Table()) {
  if (num_classes_ == 0) {
    num_classes_ = int64_t{*std::ranges::max_element(labels_)} + 1;
  }
  std::vector<int64_t> dims = images_.type.shape.dims();
  dims.erase(dims.begin());
  fields_ = {{.dtype = DType::kFloat32, .shape = Shape(std::move(dims))},
             {.dtype = DType::kInt32, .shape = Shape()}};
}

int64_t TensorFile::size() const {
  return static_cast<int64_t>(labels_.size());
}

absl::Status TensorFile::Read(int64_t index,
                              std::span<std::byte* const> buffers) const {
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  const auto sample = static_cast<size_t>(index);
  const auto values = static_cast<size_t>(fields_[0].num_elements());
  if (images_.type.dtype == DType::kFloat32) {
    std::memcpy(buffers[0], images_.data<float>() + sample * values,
                values * sizeof(float));
  } else {
    const uint8_t* from = images_.data<uint8_t>() + sample * values;
    auto* to = reinterpret_cast<float*>(buffers[0]);
    for (size_t i = 0; i < values; ++i) to[i] = scaled_[from[i]];
  }
  std::memcpy(buffers[1], &labels_[sample], sizeof(int32_t));
  return absl::OkStatus();
}

}  // namespace spillway
