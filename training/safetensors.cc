#include "training/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

static_assert(std::endian::native == std::endian::little,
              "tensors are written as they lie in memory");

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kSizeBytes = 8;
constexpr int64_t kMaxHeaderBytes = 100'000'000;  // as the reference reader
constexpr std::string_view kMetadata = "__metadata__";

struct DTypeCode {
  std::string_view code;
  DType dtype;
};
constexpr std::array<DTypeCode, 7> kDTypeCodes = {{{"F32", DType::kFloat32},
                                                   {"BF16", DType::kBFloat16},
                                                   {"F16", DType::kFloat16},
                                                   {"I32", DType::kInt32},
                                                   {"I64", DType::kInt64},
                                                   {"U8", DType::kUInt8},
                                                   {"BOOL", DType::kBool}}};

std::string_view CodeOf(DType dtype) {
  return std::ranges::find(kDTypeCodes, dtype, &DTypeCode::dtype)->code;
}

std::optional<DType> DTypeOf(std::string_view code) {
  const auto found = std::ranges::find(kDTypeCodes, code, &DTypeCode::code);
  if (found == kDTypeCodes.end()) return std::nullopt;
  return found->dtype;
}

// One line of the header.
struct Entry {
  std::string name;
  TensorType type;
  int64_t begin = 0;  // in the data, half-open
  int64_t end = 0;
};

// The list of integers, none negative, in field `key` of `object`.
absl::StatusOr<std::vector<int64_t>> GetSizes(const Json& object,
                                              const char* key) {
  const auto field = object.find(key);
  if (field == object.end() || !field->is_array()) {
    return InvalidArgument(fmt::format("'{}' must be a list", key));
  }
  constexpr uint64_t kMax = uint64_t{1} << 62;
  std::vector<int64_t> sizes;
  for (const Json& item : *field) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > kMax) {
      return InvalidArgument(
          fmt::format("'{}' must hold integers from 0 to 2^62", key));
    }
    sizes.push_back(item.get<int64_t>());
  }
  return sizes;
}

absl::StatusOr<Entry> ParseEntry(const std::string& name, const Json& json) {
  if (!json.is_object()) return InvalidArgument("must be an object");
  for (const auto& [key, value] : json.items()) {
    if (key == "dtype" || key == "shape" || key == "data_offsets") continue;
    return InvalidArgument(fmt::format("unknown field '{}'", key));
  }
  const auto code = json.find("dtype");
  if (code == json.end() || !code->is_string()) {
    return InvalidArgument("'dtype' must be a text");
  }
  const auto dtype = DTypeOf(code->get_ref<const std::string&>());
  if (!dtype.has_value()) {
    return InvalidArgument(
        fmt::format("dtype '{}'; known: F32 BF16 F16 I32 I64 U8 BOOL",
                    code->get_ref<const std::string&>()));
  }
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<int64_t> dims, GetSizes(json, "shape"));
  const TensorType type = {.dtype = *dtype, .shape = Shape(std::move(dims))};
  SPILLWAY_RETURN_IF_ERROR(CheckShape(type.shape));
  SPILLWAY_ASSIGN_OR_RETURN(const auto offsets, GetSizes(json, "data_offsets"));
  if (offsets.size() != 2 || offsets[1] - offsets[0] != type.num_bytes()) {
    return InvalidArgument(
        fmt::format("'data_offsets' must be [begin, begin + {}], the size of "
                    "{}",
                    type.num_bytes(), type.ToString()));
  }
  return Entry{
      .name = name, .type = type, .begin = offsets[0], .end = offsets[1]};
}

absl::StatusOr<Metadata> ParseMetadata(const Json& json) {
  if (!json.is_object()) return InvalidArgument("must be an object");
  Metadata metadata;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      return InvalidArgument(fmt::format("'{}' must be a text", key));
    }
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

// The tensors cover the data from front to back, without gap or overlap.
absl::Status CheckLayout(std::span<const Entry> entries, int64_t data_bytes) {
  std::vector<const Entry*> in_order;
  for (const Entry& entry : entries) in_order.push_back(&entry);
  std::ranges::stable_sort(in_order, {}, &Entry::begin);
  int64_t end = 0;
  for (const Entry* entry : in_order) {
    if (entry->begin != end) {
      return InvalidArgument(fmt::format(
          "{}: begins at byte {} of the data, where byte {} was expected: {}",
          entry->name, entry->begin, end,
          entry->begin < end ? "it overlaps another tensor"
                             : "no tensor owns the gap"));
    }
    end = entry->end;
  }
  if (end != data_bytes) {
    return InvalidArgument(
        fmt::format("the tensors end at byte {} of the data, which has {}", end,
                    data_bytes));
  }
  return absl::OkStatus();
}

struct Header {
  std::vector<Entry> entries;
  Metadata metadata;
};

absl::StatusOr<Header> ParseHeader(std::string_view text) {
  SPILLWAY_ASSIGN_OR_RETURN(const Json json, ParseJson(text, "header"));
  if (!json.is_object()) return InvalidArgument("the header is no JSON object");
  Header header;
  for (const auto& [name, value] : json.items()) {
    if (name == kMetadata) continue;
    absl::StatusOr<Entry> entry = ParseEntry(name, value);
    if (!entry.ok()) return Annotate(entry.status(), name);
    header.entries.push_back(*std::move(entry));
  }
  if (!json.contains(kMetadata)) return header;
  absl::StatusOr<Metadata> metadata = ParseMetadata(json.at(kMetadata));
  if (!metadata.ok()) return Annotate(metadata.status(), kMetadata);
  header.metadata = *std::move(metadata);
  return header;
}

// The header's size, or why it cannot be.
absl::StatusOr<int64_t> ParseHeaderSize(std::string_view bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  if (size < kSizeBytes) {
    return InvalidArgument(
        fmt::format("has {} bytes, fewer than the header's size takes", size));
  }
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  const int64_t limit = std::min(size - kSizeBytes, kMaxHeaderBytes);
  if (header_bytes > static_cast<uint64_t>(limit)) {
    return InvalidArgument(
        fmt::format("claims a header of {} bytes; there is room for {}",
                    header_bytes, limit));
  }
  return static_cast<int64_t>(header_bytes);
}

absl::StatusOr<SafetensorsFile> Parse(std::string_view bytes) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t header_bytes, ParseHeaderSize(bytes));
  bytes.remove_prefix(kSizeBytes);
  const std::string_view data = bytes.substr(static_cast<size_t>(header_bytes));
  SPILLWAY_ASSIGN_OR_RETURN(
      Header header,
      ParseHeader(bytes.substr(0, static_cast<size_t>(header_bytes))));
  SPILLWAY_RETURN_IF_ERROR(
      CheckLayout(header.entries, static_cast<int64_t>(data.size())));
  SafetensorsFile file = {.metadata = std::move(header.metadata)};
  for (const Entry& entry : header.entries) {
    const auto* begin = reinterpret_cast<const std::byte*>(data.data());
    HostTensor& tensor = file.tensors[entry.name];
    tensor.type = entry.type;
    tensor.bytes.assign(begin + entry.begin, begin + entry.end);
  }
  return file;
}

using NamedTensor = TensorMap::value_type;

// Wide elements first, so that every tensor is aligned to its element size;
// then by name.
std::vector<const NamedTensor*> InFileOrder(const TensorMap& tensors) {
  std::vector<const NamedTensor*> in_order;
  for (const NamedTensor& item : tensors) in_order.push_back(&item);
  std::ranges::stable_sort(
      in_order, std::ranges::greater(),
      [](const NamedTensor* item) { return SizeOf(item->second.type.dtype); });
  return in_order;
}

// The padded header of tensors that lie in this order.
absl::StatusOr<std::string> FormatHeader(
    std::span<const NamedTensor* const> in_order, const Metadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  int64_t offset = 0;
  for (const NamedTensor* item : in_order) {
    const auto& [name, tensor] = *item;
    const int64_t bytes = tensor.type.num_bytes();
    if (static_cast<int64_t>(tensor.bytes.size()) != bytes ||
        name == kMetadata) {
      return InvalidArgument(
          fmt::format("tensor '{}' of {} bytes and type {} cannot be written",
                      name, tensor.bytes.size(), tensor.type.ToString()));
    }
    header[name] = {{"dtype", CodeOf(tensor.type.dtype)},
                    {"shape", tensor.type.shape.dims()},
                    {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text =
      header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((kSizeBytes - text.size() % kSizeBytes) % kSizeBytes, ' ');
  return text;
}

}  // namespace

absl::StatusOr<SafetensorsFile> ParseSafetensorsFile(std::string_view bytes,
                                                     std::string_view source) {
  absl::StatusOr<SafetensorsFile> file = Parse(bytes);
  if (!file.ok()) return Annotate(file.status(), source);
  return file;
}

absl::StatusOr<SafetensorsFile> ReadSafetensorsFile(const std::string& path) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  return ParseSafetensorsFile(bytes, path);
}

absl::StatusOr<TensorMap> ParseSafetensors(std::string_view bytes,
                                           std::string_view source) {
  SPILLWAY_ASSIGN_OR_RETURN(SafetensorsFile file,
                            ParseSafetensorsFile(bytes, source));
  return std::move(file.tensors);
}

absl::StatusOr<TensorMap> ReadSafetensors(const std::string& path) {
  SPILLWAY_ASSIGN_OR_RETURN(SafetensorsFile file, ReadSafetensorsFile(path));
  return std::move(file.tensors);
}

absl::Status WriteSafetensors(const std::string& path, const TensorMap& tensors,
                              const Metadata& metadata) {
  const std::vector<const NamedTensor*> in_order = InFileOrder(tensors);
  absl::StatusOr<std::string> header = FormatHeader(in_order, metadata);
  if (!header.ok()) return Annotate(header.status(), path);
  const uint64_t header_bytes = header->size();
  std::vector<std::string_view> pieces = {
      {reinterpret_cast<const char*>(&header_bytes), kSizeBytes}, *header};
  for (const NamedTensor* item : in_order) {
    const HostTensor& tensor = item->second;
    pieces.emplace_back(tensor.data<char>(), tensor.bytes.size());
  }
  return WriteFileAtomically(path, pieces);
}

}  // namespace spillway
