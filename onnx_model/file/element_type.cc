#include "onnx_model/file/element_type.h"

#include <fmt/format.h>

namespace spillway::onnx_model {

std::string ElementTypeName(ElementType type) {
  switch (type) {
    case ElementType::kUndefined:
      return "UNDEFINED";
    case ElementType::kFloat:
      return "FLOAT";
    case ElementType::kUInt8:
      return "UINT8";
    case ElementType::kInt8:
      return "INT8";
    case ElementType::kUInt16:
      return "UINT16";
    case ElementType::kInt16:
      return "INT16";
    case ElementType::kInt32:
      return "INT32";
    case ElementType::kInt64:
      return "INT64";
    case ElementType::kString:
      return "STRING";
    case ElementType::kBool:
      return "BOOL";
    case ElementType::kFloat16:
      return "FLOAT16";
    case ElementType::kDouble:
      return "DOUBLE";
    case ElementType::kUInt32:
      return "UINT32";
    case ElementType::kUInt64:
      return "UINT64";
    case ElementType::kBFloat16:
      return "BFLOAT16";
  }
  return fmt::format("type {}", static_cast<int32_t>(type));
}

bool IsFloating(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kDouble ||
         type == ElementType::kFloat16 || type == ElementType::kBFloat16;
}

bool IsInteger(ElementType type) {
  return SizeOf(type) > 0 && !IsFloating(type) && type != ElementType::kBool;
}

int64_t SizeOf(ElementType type) {
  switch (type) {
    case ElementType::kUInt8:
    case ElementType::kInt8:
    case ElementType::kBool:
      return 1;
    case ElementType::kUInt16:
    case ElementType::kInt16:
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
      return 2;
    case ElementType::kFloat:
    case ElementType::kInt32:
    case ElementType::kUInt32:
      return 4;
    case ElementType::kInt64:
    case ElementType::kDouble:
    case ElementType::kUInt64:
      return 8;
    case ElementType::kUndefined:
    case ElementType::kString:
      return 0;
  }
  return 0;
}

std::optional<DType> HostDTypeOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
      return DType::kFloat32;
    case ElementType::kFloat16:
      return DType::kFloat16;
    case ElementType::kBFloat16:
      return DType::kBFloat16;
    case ElementType::kInt64:
      return DType::kInt64;
    case ElementType::kInt32:
      return DType::kInt32;
    case ElementType::kUInt8:
      return DType::kUInt8;
    case ElementType::kBool:
      return DType::kBool;
    default:
      return std::nullopt;
  }
}

std::optional<DType> DTypeOf(ElementType type) {
  if (IsFloating(type)) return DType::kFloat32;
  switch (type) {
    case ElementType::kUInt8:
      return DType::kUInt8;
    case ElementType::kInt8:
    case ElementType::kInt16:
    case ElementType::kUInt16:
    case ElementType::kInt32:
      return DType::kInt32;
    case ElementType::kInt64:
      return DType::kInt64;
    case ElementType::kBool:
      return DType::kBool;
    default:
      return std::nullopt;
  }
}

}  // namespace spillway::onnx_model
