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

#include "base/counted.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_object.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

static_assert(std::endian::native == std::endian::little,
              "tensors are written as they lie in memory");

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kSizeBytes = 8;
constexpr int64_t kMaxHeaderBytes = 100'000'000;  // as in the reference reader
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

// One entry of the header.
struct Entry {
  std::string name;
  TensorType type;
  int64_t begin = 0;  // in the data, half-open
  int64_t end = 0;
};

absl::StatusOr<Entry> ParseEntry(std::string_view name, JsonObject fields) {
  constexpr IntegerRange kSizes = {.least = 0, .most = int64_t{1} << 62};
  const std::optional<DType> dtype = DTypeOf(fields.Text("dtype"));
  if (!dtype) fields.MustBe("dtype", "F32 BF16 F16 I32 I64 U8 or BOOL");
  const Shape shape(fields.Integers("shape", kSizes));
  fields.Check("shape", CheckShape(shape));
  const std::vector<int64_t> offsets = fields.Integers("data_offsets", kSizes);
  fields.RefuseOtherFields();
  SPILLWAY_RETURN_IF_ERROR(fields.status());
  const TensorType type = {.dtype = *dtype, .shape = shape};
  if (offsets.size() != 2 || offsets[1] - offsets[0] != type.num_bytes()) {
    fields.Fail("data_offsets",
                fmt::format("must be [begin, begin + {}], the size of {}",
                            type.num_bytes(), type.ToString()));
    return fields.status();
  }
  return Entry{.name = std::string(name),
               .type = type,
               .begin = offsets[0],
               .end = offsets[1]};
}

Metadata ReadMetadata(JsonObject texts) {
  Metadata metadata;
  for (const std::string_view name : texts.names()) {
    metadata[std::string(name)] = texts.Text(name);
  }
  return metadata;
}

// Checks that the tensors cover the data without gap or overlap.
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
  JsonObject fields(json, "header");
  Header header;
  for (const std::string_view name : fields.names()) {
    if (name == kMetadata) {
      header.metadata = ReadMetadata(fields.Object(name));
      continue;
    }
    SPILLWAY_ASSIGN_OR_RETURN(header.entries.emplace_back(),
                              ParseEntry(name, fields.Object(name)));
  }
  SPILLWAY_RETURN_IF_ERROR(fields.status());
  return header;
}

// The header's size, or an error.
absl::StatusOr<int64_t> ParseHeaderSize(std::string_view bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  if (size < kSizeBytes) {
    return InvalidArgument(fmt::format(
        "is not a safetensors file: it has only {}", Counted(size, "byte")));
  }
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  const int64_t limit = std::min(size - kSizeBytes, kMaxHeaderBytes);
  if (header_bytes > static_cast<uint64_t>(limit)) {
    return InvalidArgument(fmt::format(
        "is not a safetensors file: its first 8 bytes claim a header "
        "of {} bytes, but there is room for {}",
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
