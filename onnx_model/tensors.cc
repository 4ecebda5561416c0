#include "onnx_model/tensors.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bfloat16.h"
#include "base/float16.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

// The tensor type that has the values of a model's type; nullopt: none has.
std::optional<DType> HostDType(std::string_view element_type) {
  static const std::map<std::string_view, DType> kTypes = {
      {"FLOAT", DType::kFloat32},     {"FLOAT16", DType::kFloat16},
      {"BFLOAT16", DType::kBFloat16}, {"DOUBLE", DType::kFloat32},
      {"INT64", DType::kInt64},       {"INT32", DType::kInt32},
      {"UINT8", DType::kUInt8},       {"BOOL", DType::kBool},
      {"INT16", DType::kInt32},       {"INT8", DType::kInt32},
      {"UINT16", DType::kInt32}};
  const auto found = kTypes.find(element_type);
  if (found == kTypes.end()) return std::nullopt;
  return found->second;
}

template <typename To>
To ConvertTo(double value) {
  if constexpr (std::is_same_v<To, Float16>) {
    return ToFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return ToBFloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != 0;
  } else {
    return static_cast<To>(value);
  }
}

double Load(const HostTensor& tensor, size_t i) {
  switch (tensor.type.dtype) {
    case DType::kFloat32:
      return tensor.data<float>()[i];
    case DType::kFloat16:
      return ToFloat(tensor.data<Float16>()[i]);
    case DType::kBFloat16:
      return ToFloat(tensor.data<BFloat16>()[i]);
    case DType::kInt32:
      return tensor.data<int32_t>()[i];
    case DType::kInt64:
      return static_cast<double>(tensor.data<int64_t>()[i]);
    case DType::kUInt8:
    case DType::kBool:
      return tensor.data<uint8_t>()[i];
  }
  return 0;
}

template <Element To>
HostTensor ConvertAll(const HostTensor& tensor) {
  HostTensor result = {
      .type = {.dtype = *ElementDType<To>(), .shape = tensor.type.shape}};
  const auto count = static_cast<size_t>(tensor.type.num_elements());
  result.bytes.resize(count * sizeof(To));
  for (size_t i = 0; i < count; ++i) {
    const To value = ConvertTo<To>(Load(tensor, i));
    std::memcpy(result.bytes.data() + i * sizeof(To), &value, sizeof value);
  }
  return result;
}

// Within types whose values a double has; INT64 stays INT64.
HostTensor Convert(HostTensor tensor, DType dtype) {
  if (tensor.type.dtype == dtype) return tensor;
  switch (dtype) {
    case DType::kFloat32:
      return ConvertAll<float>(tensor);
    case DType::kFloat16:
      return ConvertAll<Float16>(tensor);
    case DType::kBFloat16:
      return ConvertAll<BFloat16>(tensor);
    case DType::kInt32:
      return ConvertAll<int32_t>(tensor);
    case DType::kInt64:
      return ConvertAll<int64_t>(tensor);
    case DType::kUInt8:
      return ConvertAll<uint8_t>(tensor);
    case DType::kBool:
      return ConvertAll<bool>(tensor);
  }
  return tensor;
}

}  // namespace

absl::StatusOr<HostTensor> ToFeed(const HostTensor& tensor,
                                  const OnnxValue& input) {
  return ToFeed(tensor, input, input.tensor.type());
}

absl::StatusOr<HostTensor> ToFeed(const HostTensor& tensor,
                                  const OnnxValue& input,
                                  const TensorType& feed) {
  const std::optional<DType> expected = HostDType(input.element_type);
  const TensorType wanted = {.dtype = expected.value_or(feed.dtype),
                             .shape = feed.shape};
  if (tensor.type != wanted) {
    return InvalidArgument(
        fmt::format("input {} is {} in the model, {} in the "
                    "file",
                    input.name, wanted.ToString(), tensor.type.ToString()));
  }
  return Convert(tensor, feed.dtype);
}

HostTensor FromFetch(HostTensor tensor, const OnnxValue& output) {
  const std::optional<DType> wanted = HostDType(output.element_type);
  if (!wanted.has_value()) return tensor;
  return Convert(std::move(tensor), *wanted);
}

}  // namespace spillway
