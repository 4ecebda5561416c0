#include "training/data/idx.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "training/data/gzip.h"

namespace spillway {
namespace {

constexpr int kUnsignedByte = 0x08;
constexpr int kMaxRank = 4;
constexpr int64_t kMaxElements = 2_GiB;
constexpr int64_t kMagicBytes = 4;
constexpr int64_t kDimBytes = 4;

int64_t HeaderBytes(int64_t rank) { return kMagicBytes + kDimBytes * rank; }

absl::Status Error(std::string_view source, int64_t offset,
                   std::string_view what) {
  return InvalidArgument(
      fmt::format("{}: at byte {}: {}", source, offset, what));
}

int64_t ByteAt(std::string_view bytes, int64_t offset) {
  return static_cast<unsigned char>(bytes[static_cast<size_t>(offset)]);
}

int64_t BigEndian32(std::string_view bytes, int64_t offset) {
  int64_t value = 0;
  for (int64_t i = 0; i < 4; ++i)
    value = value << 8 | ByteAt(bytes, offset + i);
  return value;
}

// The rank, from the magic number.
absl::StatusOr<int64_t> ParseMagic(std::string_view bytes,
                                   std::string_view source) {
  const auto size = static_cast<int64_t>(bytes.size());
  if (size < kMagicBytes) {
    return Error(source, size, "ends inside the magic number");
  }
  const int64_t magic = BigEndian32(bytes, 0);
  const int64_t rank = magic & 0xFF;
  if (magic >> 8 != kUnsignedByte || rank < 1 || rank > kMaxRank) {
    return Error(source, 0,
                 fmt::format("magic number 0x{:08x}, expected 0x0000080N: "
                             "unsigned bytes of rank N, 1 to {}",
                             magic, kMaxRank));
  }
  return rank;
}

}  // namespace

absl::StatusOr<IdxArray> ParseIdx(std::string_view bytes,
                                  std::string_view source) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t rank, ParseMagic(bytes, source));
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t header_bytes = HeaderBytes(rank);
  if (size < header_bytes) {
    return Error(source, size, "ends inside the dimensions");
  }
  IdxArray array;
  int64_t elements = 1;
  for (int64_t offset = kMagicBytes; offset < header_bytes;
       offset += kDimBytes) {
    const int64_t dim = BigEndian32(bytes, offset);
    if (dim == 0) return Error(source, offset, "a dimension of 0");
    if (dim > kMaxElements / elements) {
      return Error(source, offset,
                   fmt::format("a dimension of {} makes more than {} elements",
                               dim, kMaxElements));
    }
    elements *= dim;
    array.dims.push_back(dim);
  }
  if (size < header_bytes + elements) {
    return Error(source, size,
                 fmt::format("ends early: {} elements promised, {} there",
                             elements, size - header_bytes));
  }
  if (size > header_bytes + elements) {
    return Error(source, header_bytes + elements,
                 fmt::format("{} bytes left over after {} elements",
                             size - header_bytes - elements, elements));
  }
  const std::string_view data = bytes.substr(static_cast<size_t>(header_bytes));
  array.values.assign(data.begin(), data.end());
  return array;
}

absl::StatusOr<IdxArray> ReadIdxFile(const std::string& path) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  if (!IsGzip(bytes)) return ParseIdx(bytes, path);
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::string unpacked,
      Gunzip(bytes, path, kMaxElements + HeaderBytes(kMaxRank)));
  return ParseIdx(unpacked, fmt::format("{} (unpacked)", path));
}

}  // namespace spillway
