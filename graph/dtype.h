// Element types of tensors.
#ifndef SPILLWAY_GRAPH_DTYPE_H_
#define SPILLWAY_GRAPH_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace spillway {

enum class DType : uint8_t {
  kFloat32,
  kBFloat16,
  kFloat16,
  kInt32,
  kInt64,
  kUInt8,
  kBool,
};

constexpr int64_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kInt64:
      return 8;
    case DType::kFloat32:
    case DType::kInt32:
      return 4;
    case DType::kBFloat16:
    case DType::kFloat16:
      return 2;
    case DType::kUInt8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

constexpr bool IsFloating(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kBFloat16 ||
         dtype == DType::kFloat16;
}

// The name used in graph files: "float32", "bfloat16", "int32", ...
std::string_view DTypeName(DType dtype);
std::optional<DType> ParseDType(std::string_view name);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_DTYPE_H_
