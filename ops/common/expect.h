// Checks shared by shape rules. Each returns INVALID_ARGUMENT with the expected
// and the actual value; `name` is the input's name in the op's schema.
#ifndef SPILLWAY_OPS_COMMON_EXPECT_H_
#define SPILLWAY_OPS_COMMON_EXPECT_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/op_def.h"

namespace spillway {

// "x must be float32, bfloat16 or float16; it is int32[3]"
absl::Status ExpectFloating(std::string_view name, const TensorType& type);

absl::Status ExpectDType(std::string_view name, const TensorType& type,
                         DType dtype);

absl::Status ExpectRank(std::string_view name, const TensorType& type,
                        int rank);
absl::Status ExpectRankAtLeast(std::string_view name, const TensorType& type,
                               int rank);

// "gradient must be float32[2, 3], as variable; it is float32[3]"
absl::Status ExpectType(std::string_view name, const TensorType& type,
                        const TensorType& expected, std::string_view as);

// As ExpectType, but also accepts float32 if `expected` is a shorter float:
// "bias must be bfloat16[3] or float32[3], as the channels of x; it is ..."
absl::Status ExpectTypeOrFloat32(std::string_view name, const TensorType& type,
                                 const TensorType& expected,
                                 std::string_view as);

// A real attribute in [low, high).
absl::StatusOr<double> GetRealIn(const Attributes& attributes,
                                 std::string_view name, double fallback,
                                 double low, double high);

// Dimension `axis` (negative axes count from the end) of a tensor of this rank,
// as 0, ..., rank - 1.
absl::StatusOr<int> ResolveAxis(int64_t axis, int rank);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_EXPECT_H_
