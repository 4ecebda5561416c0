#include "onnx_model/file/model_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "graph/shape.h"
#include "onnx_model/file/external_data.h"

static_assert(std::endian::native == std::endian::little);

namespace spillway::onnx_model {
namespace {

constexpr int64_t kMaxFileBytes = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxElements = int64_t{1} << 46;

absl::Status NotAModel(const std::string& path, int64_t bytes) {
  return InvalidArgument(
      fmt::format("{}: {} bytes that are not an ONNX model, or one that is cut "
                  "short",
                  path, bytes));
}

// The size of a file that may be read as a protobuf.
absl::StatusOr<int64_t> CheckFile(int descriptor, const std::string& path) {
  struct stat facts = {};
  if (descriptor < 0 || fstat(descriptor, &facts) != 0) {
    return InvalidArgument(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  if (S_ISDIR(facts.st_mode)) {
    return InvalidArgument(fmt::format("{}: is a folder", path));
  }
  if (facts.st_size > kMaxFileBytes) {
    return InvalidArgument(fmt::format(
        "{}: has {}, but a protobuf has at most 2 GiB; save the weights as "
        "external data",
        path, FormatBytes(facts.st_size)));
  }
  return static_cast<int64_t>(facts.st_size);
}

absl::StatusOr<int64_t> FindOpset(const onnx::ModelProto& model) {
  int64_t opset = 0;
  for (const onnx::OperatorSetIdProto& entry : model.opset_import()) {
    if (IsDefaultDomain(entry.domain())) opset = entry.version();
  }
  if (opset == 0) {
    return InvalidArgument("states no opset of the default domain");
  }
  if (opset < kOldestOpset || opset > kNewestOpset) {
    return InvalidArgument(
        fmt::format("is of opset {}; known are {} to {}; convert it with "
                    "onnx.version_converter, or export it again",
                    opset, kOldestOpset, kNewestOpset));
  }
  return opset;
}

absl::Status CheckInitializers(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (tensor.name().empty()) {
      return InvalidArgument("has an initializer without a name");
    }
    if (!names.insert(tensor.name()).second) {
      return InvalidArgument(
          fmt::format("has two initializers {}", tensor.name()));
    }
    SPILLWAY_RETURN_IF_ERROR(
        Annotate(CountElements(DimsOf(tensor)).status(),
                 fmt::format("initializer {}", tensor.name())));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> ParseInteger(const std::string& text,
                                     std::string_view key) {
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return InvalidArgument(fmt::format("external data: {} is '{}'", key, text));
  }
  return value;
}

absl::StatusOr<ExternalData> PlaceOf(const onnx::TensorProto& tensor) {
  ExternalData data;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") data.location = entry.value();
    if (entry.key() == "offset") {
      SPILLWAY_ASSIGN_OR_RETURN(data.offset,
                                ParseInteger(entry.value(), "offset"));
    }
    if (entry.key() == "length") {
      SPILLWAY_ASSIGN_OR_RETURN(data.length,
                                ParseInteger(entry.value(), "length"));
    }
  }
  return data;
}

// The elements of a typed field as T, one after the other.
template <typename T, typename Field>
std::string Pack(const Field& field) {
  std::string bytes(static_cast<size_t>(field.size()) * sizeof(T), '\0');
  char* out = bytes.data();
  for (const auto element : field) {
    const T value = static_cast<T>(element);
    std::memcpy(out, &value, sizeof value);
    out += sizeof value;
  }
  return bytes;
}

std::string PackField(const onnx::TensorProto& tensor) {
  switch (TypeOf(tensor)) {
    case ElementType::kFloat:
      return Pack<float>(tensor.float_data());
    case ElementType::kDouble:
      return Pack<double>(tensor.double_data());
    case ElementType::kInt64:
      return Pack<int64_t>(tensor.int64_data());
    case ElementType::kUInt32:
      return Pack<uint32_t>(tensor.uint64_data());
    case ElementType::kUInt64:
      return Pack<uint64_t>(tensor.uint64_data());
    case ElementType::kInt32:
      return Pack<int32_t>(tensor.int32_data());
    case ElementType::kUInt16:
    case ElementType::kInt16:
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
      return Pack<uint16_t>(tensor.int32_data());
    case ElementType::kUInt8:
    case ElementType::kInt8:
    case ElementType::kBool:
      return Pack<uint8_t>(tensor.int32_data());
    case ElementType::kString:
    case ElementType::kUndefined:
      return {};
  }
  return {};
}

}  // namespace

absl::StatusOr<ModelFile> ModelFile::Read(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const absl::StatusOr<int64_t> bytes = CheckFile(descriptor, path);
  if (!bytes.ok()) {
    if (descriptor >= 0) close(descriptor);
    return bytes.status();
  }
  google::protobuf::io::FileInputStream stream(descriptor);
  stream.SetCloseOnDelete(true);
  ModelFile file;
  file.path_ = path;
  if (!file.model_.ParsePartialFromZeroCopyStream(&stream) ||
      !file.model_.has_graph()) {
    return NotAModel(path, *bytes);
  }
  return Checked(std::move(file));
}

absl::StatusOr<ModelFile> ModelFile::Parse(std::string_view bytes,
                                           const std::string& path) {
  ModelFile file;
  file.path_ = path;
  const auto size = static_cast<int64_t>(bytes.size());
  if (size > kMaxFileBytes ||
      !file.model_.ParsePartialFromArray(bytes.data(),
                                         static_cast<int>(size)) ||
      !file.model_.has_graph()) {
    return NotAModel(path, size);
  }
  return Checked(std::move(file));
}

absl::StatusOr<ModelFile> ModelFile::Checked(ModelFile file) {
  const absl::StatusOr<int64_t> opset = FindOpset(file.model_);
  if (!opset.ok()) return Annotate(opset.status(), file.path_);
  file.opset_ = *opset;
  SPILLWAY_RETURN_IF_ERROR(
      Annotate(CheckInitializers(file.graph()), file.path_));
  return file;
}

bool IsDefaultDomain(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx";
}

absl::StatusOr<int64_t> CountElements(const std::vector<int64_t>& dims) {
  if (dims.size() > static_cast<size_t>(Shape::kMaxRank)) {
    return InvalidArgument(
        fmt::format("has {} dimensions, at most {} are "
                    "possible",
                    dims.size(), Shape::kMaxRank));
  }
  int64_t elements = 1;
  for (const int64_t dim : dims) {
    if (dim < 0) {
      return InvalidArgument(fmt::format("has the dimension {}", dim));
    }
    if (dim > 0 && elements > kMaxElements / dim) {
      return InvalidArgument(
          fmt::format("has the dimensions {}: too many "
                      "elements",
                      Shape(dims).ToString()));
    }
    elements *= dim;
  }
  return elements;
}

std::vector<int64_t> DimsOf(const onnx::TensorProto& tensor) {
  return {tensor.dims().begin(), tensor.dims().end()};
}

ElementType TypeOf(const onnx::TensorProto& tensor) {
  return static_cast<ElementType>(tensor.data_type());
}

absl::StatusOr<std::string> BytesOf(const onnx::TensorProto& tensor,
                                    const std::string& model_path) {
  const int64_t size = SizeOf(TypeOf(tensor));
  if (size == 0) {
    return InvalidArgument(fmt::format("is of {}, which has no numbers",
                                       ElementTypeName(TypeOf(tensor))));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t elements,
                            CountElements(DimsOf(tensor)));
  const int64_t expected = elements * size;
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    SPILLWAY_ASSIGN_OR_RETURN(const ExternalData data, PlaceOf(tensor));
    return ReadExternalData(data, model_path, expected);
  }
  std::string bytes =
      tensor.has_raw_data() ? tensor.raw_data() : PackField(tensor);
  if (static_cast<int64_t>(bytes.size()) != expected) {
    return InvalidArgument(
        fmt::format("has {} bytes where {} {} needs {}", bytes.size(),
                    ElementTypeName(TypeOf(tensor)),
                    Shape(DimsOf(tensor)).ToString(), expected));
  }
  return bytes;
}

}  // namespace spillway::onnx_model
