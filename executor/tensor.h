// Tensors on the host: TensorView borrows its bytes, HostTensor owns them.
#ifndef SPILLWAY_EXECUTOR_TENSOR_H_
#define SPILLWAY_EXECUTOR_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bfloat16.h"
#include "base/float16.h"
#include "graph/tensor_type.h"

namespace spillway {

// The element type whose C++ type is T; nothing for other types.
template <typename T>
constexpr std::optional<DType> ElementDType() {
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::kBFloat16;
  if constexpr (std::is_same_v<T, Float16>) return DType::kFloat16;
  if constexpr (std::is_same_v<T, int32_t>) return DType::kInt32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::kInt64;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::kUInt8;
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  return std::nullopt;
}

// float, BFloat16, Float16, int32_t, int64_t, uint8_t, bool.
template <typename T>
concept Element = ElementDType<T>()
.has_value();

struct TensorView {
  TensorType type = {};
  const void* data = nullptr;  // borrowed; contiguous, row-major
};

// A host tensor that owns its bytes.
struct HostTensor {
  TensorType type = {};
  std::vector<std::byte> bytes = {};  // row-major

  // The elements; borrows the tensor. Errors: INVALID_ARGUMENT if T is not the
  // C++ type of type.dtype, or if the size of `bytes` does not match `type`.
  template <Element T>
  absl::StatusOr<std::span<const T>> span() const {
    if (absl::Status fits = CheckElements(*ElementDType<T>()); !fits.ok()) {
      return fits;
    }
    return std::span<const T>(data<T>(),
                              static_cast<size_t>(type.num_elements()));
  }

  // The bytes as T, unchecked: for callers that have checked the type.
  template <typename T>
  const T* data() const {
    return reinterpret_cast<const T*>(bytes.data());
  }

  // Of the same type and bytes.
  friend bool operator==(const HostTensor&, const HostTensor&) = default;

 private:
  absl::Status CheckElements(DType dtype) const;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_TENSOR_H_
