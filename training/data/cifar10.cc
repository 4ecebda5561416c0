#include "training/data/cifar10.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

constexpr int64_t kPlane = Cifar10::kSize * Cifar10::kSize;

std::vector<std::string> FilesOf(Split split) {
  if (split == Split::kTest) return {"test_batch.bin"};
  std::vector<std::string> files;
  for (int i = 1; i <= 5; ++i) {
    files.push_back(fmt::format("data_batch_{}.bin", i));
  }
  return files;
}

int LabelAt(const std::string& records, size_t offset) {
  return static_cast<unsigned char>(records[offset]);
}

absl::Status Check(const std::string& records, const std::string& path) {
  constexpr auto kRecord = static_cast<size_t>(Cifar10::kRecordBytes);
  if (records.empty() || records.size() % kRecord != 0) {
    return InvalidArgument(
        fmt::format("{}: at byte {}: ends inside a record; each has {} bytes",
                    path, records.size(), kRecord));
  }
  for (size_t offset = 0; offset < records.size(); offset += kRecord) {
    if (LabelAt(records, offset) < 10) continue;
    return InvalidArgument(
        fmt::format("{}: at byte {}: label {}, expected 0 "
                    "to 9",
                    path, offset, LabelAt(records, offset)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadRecords(const std::string& folder,
                                        const std::string& file) {
  const std::string path = (std::filesystem::path(folder) / file).string();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return NotFound(
        fmt::format("'{}' has no {}; the data directory must hold "
                    "data_batch_1.bin to data_batch_5.bin and test_batch.bin, "
                    "the binary version of CIFAR-10",
                    folder, file));
  }
  SPILLWAY_ASSIGN_OR_RETURN(std::string records, ReadFile(path));
  SPILLWAY_RETURN_IF_ERROR(Check(records, path));
  return records;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Cifar10>> Cifar10::Open(
    const std::string& folder, Split split, const PixelScaling& scaling) {
  std::string all;
  for (const std::string& file : FilesOf(split)) {
    SPILLWAY_ASSIGN_OR_RETURN(const std::string records,
                              ReadRecords(folder, file));
    all += records;
  }
  return std::unique_ptr<Cifar10>(new Cifar10(std::move(all), scaling));
}

Cifar10::Cifar10(std::string records, const PixelScaling& scaling)
    : records_(std::move(records)),
      fields_({{.dtype = DType::kFloat32, .shape = {kSize, kSize, kChannels}},
               {.dtype = DType::kInt32, .shape = Shape()}}),
      scaled_(scaling.Table()) {}

int64_t Cifar10::size() const {
  return static_cast<int64_t>(records_.size()) / kRecordBytes;
}

absl::Status Cifar10::Read(int64_t index,
                           std::span<std::byte* const> buffers) const {
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  const auto* record = reinterpret_cast<const unsigned char*>(
      records_.data() + index * kRecordBytes);
  const unsigned char* planes = record + 1;
  auto* image = reinterpret_cast<float*>(buffers[0]);
  for (int64_t pixel = 0; pixel < kPlane; ++pixel) {
    for (int64_t channel = 0; channel < kChannels; ++channel) {
      image[pixel * kChannels + channel] =
          scaled_[planes[channel * kPlane + pixel]];
    }
  }
  const int32_t label = *record;
  std::memcpy(buffers[1], &label, sizeof(label));
  return absl::OkStatus();
}

}  // namespace spillway
