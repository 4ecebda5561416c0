#include "graph/dtype.h"

#include <array>
#include <utility>

namespace spillway {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 7> kNames = {{
    {DType::kFloat32, "float32"},
    {DType::kBFloat16, "bfloat16"},
    {DType::kFloat16, "float16"},
    {DType::kInt32, "int32"},
    {DType::kInt64, "int64"},
    {DType::kUInt8, "uint8"},
    {DType::kBool, "bool"},
}};

}  // namespace

std::string_view DTypeName(DType dtype) {
  for (const auto& [candidate, name] : kNames) {
    if (candidate == dtype) return name;
  }
  return "invalid";
}

std::optional<DType> ParseDType(std::string_view name) {
  for (const auto& [dtype, candidate] : kNames) {
    if (candidate == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace spillway
