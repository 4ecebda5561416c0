#include "ops/common/expect.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/status_macros.h"

namespace spillway {

absl::Status ExpectFloating(std::string_view name, const TensorType& type) {
  if (IsFloating(type.dtype)) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("{} must be float32, bfloat16 or float16; it is {}", name,
                  type.ToString()));
}

absl::Status ExpectDType(std::string_view name, const TensorType& type,
                         DType dtype) {
  if (type.dtype == dtype) return absl::OkStatus();
  return InvalidArgument(fmt::format("{} must be {}; it is {}", name,
                                     DTypeName(dtype), type.ToString()));
}

absl::Status ExpectRank(std::string_view name, const TensorType& type,
                        int rank) {
  if (type.shape.rank() == rank) return absl::OkStatus();
  return InvalidArgument(fmt::format("{} must have {}; it is {}", name,
                                     Counted(rank, "dimension"),
                                     type.ToString()));
}

absl::Status ExpectRankAtLeast(std::string_view name, const TensorType& type,
                               int rank) {
  if (type.shape.rank() >= rank) return absl::OkStatus();
  return InvalidArgument(fmt::format("{} must have {} or more; it is {}", name,
                                     Counted(rank, "dimension"),
                                     type.ToString()));
}

absl::Status ExpectType(std::string_view name, const TensorType& type,
                        const TensorType& expected, std::string_view as) {
  if (type == expected) return absl::OkStatus();
  return InvalidArgument(fmt::format("{} must be {}, as {}; it is {}", name,
                                     expected.ToString(), as, type.ToString()));
}

absl::Status ExpectTypeOrFloat32(std::string_view name, const TensorType& type,
                                 const TensorType& expected,
                                 std::string_view as) {
  const TensorType wide = {.dtype = DType::kFloat32, .shape = expected.shape};
  if (type == wide || expected == wide) {
    return ExpectType(name, type, wide, as);
  }
  if (type == expected) return absl::OkStatus();
  return InvalidArgument(fmt::format("{} must be {} or {}, as {}; it is {}",
                                     name, expected.ToString(), wide.ToString(),
                                     as, type.ToString()));
}

absl::StatusOr<double> GetRealIn(const Attributes& attributes,
                                 std::string_view name, double fallback,
                                 double low, double high) {
  SPILLWAY_ASSIGN_OR_RETURN(const double value,
                            attributes.GetReal(name, fallback));
  if (value >= low && value < high) return value;
  return InvalidArgument(fmt::format(
      "attribute '{}' must be at least {} and less than {}; it is {}", name,
      low, high, value));
}

absl::StatusOr<int> ResolveAxis(int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) {
    return static_cast<int>(axis < 0 ? axis + rank : axis);
  }
  return InvalidArgument(fmt::format(
      "axis {} does not exist in a tensor of {} dimensions", axis, rank));
}

}  // namespace spillway
