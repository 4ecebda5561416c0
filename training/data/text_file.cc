#include "training/data/text_file.h"

#include <fmt/format.h>

#include <utility>

#include "base/counted.h"
#include "base/file.h"
#include "base/random.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

// Of all samples in an epoch.
int64_t ShiftOf(const TextFileOptions& options, int64_t epoch) {
  if (epoch == 0) return 0;
  const uint64_t key = MixKeys(options.seed, HashName("text_file"));
  const auto bits = Philox4x32(key, static_cast<uint64_t>(epoch));
  return static_cast<int64_t>(bits[0]) % options.length;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TextFile>> TextFile::Parse(
    std::string text, std::string_view source, Split split,
    const TextFileOptions& options) {
  if (options.length < 1) {
    return InvalidArgument(
        fmt::format("length {} must be at least 1", options.length));
  }
  // The last byte is a label only, and the largest shift must fit.
  const auto bytes = static_cast<int64_t>(text.size());
  const int64_t spare = split == Split::kTrain ? options.length : 1;
  const int64_t size = (bytes - spare) / options.length;
  if (size < 1) {
    return InvalidArgument(
        fmt::format("{}: {}; a sample of {} needs at least {}", source,
                    Counted(bytes, "byte"), Counted(options.length, "token"),
                    options.length + spare));
  }
  return std::unique_ptr<TextFile>(
      new TextFile(std::move(text), split, options, size));
}

absl::StatusOr<std::unique_ptr<TextFile>> TextFile::Open(
    const std::string& folder, Split split, const TextFileOptions& options) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string path,
                            FindSplitFile(folder, split, "txt"));
  SPILLWAY_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  return Parse(std::move(text), path, split, options);
}

TextFile::TextFile(std::string text, Split split,
                   const TextFileOptions& options, int64_t size)
    : text_(std::move(text)),
      split_(split),
      options_(options),
      size_(size),
      fields_(2, {.dtype = DType::kInt32, .shape = {options.length}}) {}

absl::Status TextFile::Read(int64_t index,
                            std::span<std::byte* const> buffers) const {
  return ReadInEpoch(0, index, buffers);
}

absl::Status TextFile::ReadInEpoch(int64_t epoch, int64_t index,
                                   std::span<std::byte* const> buffers) const {
  SPILLWAY_RETURN_IF_ERROR(CheckIndex(*this, index));
  const int64_t shift = split_ == Split::kTrain ? ShiftOf(options_, epoch) : 0;
  const char* from = text_.data() + shift + index * options_.length;
  auto* tokens = reinterpret_cast<int32_t*>(buffers[0]);
  auto* labels = reinterpret_cast<int32_t*>(buffers[1]);
  for (int64_t i = 0; i < options_.length; ++i) {
    tokens[i] = static_cast<unsigned char>(from[i]);
    labels[i] = static_cast<unsigned char>(from[i + 1]);
  }
  return absl::OkStatus();
}

}  // namespace spillway
