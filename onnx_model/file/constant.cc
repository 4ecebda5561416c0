#include "onnx_model/file/constant.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/bfloat16.h"
#include "base/check.h"
#include "base/float16.h"
#include "base/status_macros.h"
#include "onnx_model/file/model_file.h"

namespace spillway::onnx_model {
namespace {

template <typename T>
T Load(const std::string& bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof value);
  return value;
}

template <typename To, typename From>
std::vector<To> Convert(const std::string& bytes) {
  std::vector<To> values(bytes.size() / sizeof(From));
  for (size_t i = 0; i < values.size(); ++i) {
    const From value = Load<From>(bytes, i);
    if constexpr (std::is_same_v<From, Float16> ||
                  std::is_same_v<From, BFloat16>) {
      values[i] = static_cast<To>(ToFloat(value));
    } else {
      values[i] = static_cast<To>(value);
    }
  }
  return values;
}

template <typename To>
std::vector<To> ConvertReals(ElementType type, const std::string& bytes) {
  switch (type) {
    case ElementType::kFloat:
      return Convert<To, float>(bytes);
    case ElementType::kDouble:
      return Convert<To, double>(bytes);
    case ElementType::kFloat16:
      return Convert<To, Float16>(bytes);
    case ElementType::kBFloat16:
      return Convert<To, BFloat16>(bytes);
    default:
      return {};
  }
}

Integers ConvertIntegers(ElementType type, const std::string& bytes) {
  switch (type) {
    case ElementType::kUInt8:
    case ElementType::kBool:
      return Convert<int64_t, uint8_t>(bytes);
    case ElementType::kInt8:
      return Convert<int64_t, int8_t>(bytes);
    case ElementType::kUInt16:
      return Convert<int64_t, uint16_t>(bytes);
    case ElementType::kInt16:
      return Convert<int64_t, int16_t>(bytes);
    case ElementType::kInt32:
      return Convert<int64_t, int32_t>(bytes);
    case ElementType::kUInt32:
      return Convert<int64_t, uint32_t>(bytes);
    default:
      return Convert<int64_t, int64_t>(bytes);
  }
}

double Rounded(ElementType type, double x) {
  switch (type) {
    case ElementType::kFloat:
      return static_cast<double>(static_cast<float>(x));
    case ElementType::kFloat16:
      return static_cast<double>(ToFloat(ToFloat16(static_cast<float>(x))));
    case ElementType::kBFloat16:
      return static_cast<double>(ToFloat(ToBFloat16(static_cast<float>(x))));
    default:
      return x;
  }
}

int64_t Wrapped(ElementType type, int64_t x) {
  switch (type) {
    case ElementType::kBool:
      return x != 0 ? 1 : 0;
    case ElementType::kUInt8:
      return static_cast<uint8_t>(x);
    case ElementType::kInt8:
      return static_cast<int8_t>(x);
    case ElementType::kUInt16:
      return static_cast<uint16_t>(x);
    case ElementType::kInt16:
      return static_cast<int16_t>(x);
    case ElementType::kInt32:
      return static_cast<int32_t>(x);
    case ElementType::kUInt32:
      return static_cast<uint32_t>(x);
    default:
      return x;
  }
}

}  // namespace

size_t Constant::size() const {
  return is_real() ? reals().size() : integers().size();
}

double Constant::real(size_t index) const {
  return is_real() ? reals()[index] : static_cast<double>(integers()[index]);
}

int64_t Constant::integer(size_t index) const {
  if (!is_real()) return integers()[index];
  // Outside the range, the conversion would be undefined.
  const double x = reals()[index];
  if (std::isnan(x)) return 0;
  if (x >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (x < -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(x);
}

Constant MakeIntegers(std::vector<int64_t> values) {
  return {.type = ElementType::kInt64,
          .dims = {static_cast<int64_t>(values.size())},
          .elements = std::move(values)};
}

Constant MakeConstant(ElementType type, std::vector<int64_t> dims,
                      std::variant<Reals, Integers> elements) {
  SPILLWAY_CHECK(std::holds_alternative<Reals>(elements) == IsFloating(type));
  if (auto* reals = std::get_if<Reals>(&elements)) {
    for (double& x : *reals) x = Rounded(type, x);
  } else {
    for (int64_t& x : std::get<Integers>(elements)) x = Wrapped(type, x);
  }
  return {
      .type = type, .dims = std::move(dims), .elements = std::move(elements)};
}

absl::StatusOr<Constant> ReadConstant(const onnx::TensorProto& tensor,
                                      const std::string& model_path) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string bytes,
                            BytesOf(tensor, model_path));
  const ElementType type = TypeOf(tensor);
  Constant constant = {.type = type, .dims = DimsOf(tensor)};
  if (IsFloating(type)) {
    constant.elements = ConvertReals<double>(type, bytes);
  } else {
    constant.elements = ConvertIntegers(type, bytes);
  }
  return constant;
}

std::vector<float> ToFloats(ElementType type, const std::string& bytes) {
  SPILLWAY_CHECK(IsFloating(type));
  return ConvertReals<float>(type, bytes);
}

}  // namespace spillway::onnx_model
