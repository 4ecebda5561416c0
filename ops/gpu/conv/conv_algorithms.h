// The algorithms of cuDNN's legacy API that a kernel may use for one
// convolution, for each of the directions of conv_directions.h.
#ifndef SPILLWAY_OPS_GPU_CONV_CONV_ALGORITHMS_H_
#define SPILLWAY_OPS_GPU_CONV_CONV_ALGORITHMS_H_

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "ops/gpu/conv/conv_descriptors.h"
#include "ops/gpu/conv/conv_way.h"
#include "ops/gpu/library/cudnn.h"

namespace spillway {

// An algorithm and the math type of its multiplications.
template <typename Direction>
struct ConvAlgorithm {
  typename Direction::Algorithm algorithm = {};
  cudnnMathType_t math = CUDNN_FMA_MATH;
  size_t workspace_bytes = 0;  // cuDNN's own

  std::string name() const;
};

// Which of cuDNN's suggestions a kernel may use.
template <typename Direction>
struct ConvRule {
  bool (*is_allowed)(typename Direction::Algorithm) = nullptr;  // null: any
  bool deterministic = true;
  // FMA: operands are not rounded to TF32, even if the heuristic suggests it.
  cudnnMathType_t math = CUDNN_FMA_MATH;
  size_t most_workspace_bytes = size_t{1} << 30;

  bool Allows(const typename Direction::Result& result) const;
  cudnnMathType_t MathOf(const typename Direction::Result& result) const;
};

// The algorithms suggested by cuDNN's heuristic that `rule` allows, in the
// heuristic's order, fastest first; without duplicates. Leaves the math type of
// `descriptors` undefined. Cost: one call into cuDNN for each candidate.
template <typename Direction>
absl::StatusOr<std::vector<ConvAlgorithm<Direction>>> FindConvAlgorithms(
    const LockedCudnn& cudnn, const ConvDescriptors& descriptors,
    const ConvRule<Direction>& rule, const ConvWanted& wanted);

inline absl::Status SetMath(const LockedCudnn& cudnn,
                            const ConvDescriptors& descriptors,
                            cudnnMathType_t math) {
  return CudnnStatus(cudnn.api,
                     cudnn.api.set_math_type(descriptors.conv.get(), math),
                     "cudnnSetConvolutionMathType");
}

// The suffix of an algorithm's name.
inline std::string_view MathSuffix(cudnnMathType_t math) {
  switch (math) {
    case CUDNN_FMA_MATH:
      return "";
    case CUDNN_DEFAULT_MATH:
      return " default_math";
    case CUDNN_TENSOR_OP_MATH:
      return " tensor_op";
    case CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION:
      return " tensor_op_conversion";
  }
  return " unknown_math";
}

template <typename Direction>
std::string ConvAlgorithm<Direction>::name() const {
  return fmt::format("{}{}", Direction::Name(algorithm), MathSuffix(math));
}

template <typename Direction>
bool ConvRule<Direction>::Allows(
    const typename Direction::Result& result) const {
  if (result.status != CUDNN_STATUS_SUCCESS) return false;
  if (deterministic && (result.determinism != CUDNN_DETERMINISTIC ||
                        !Direction::IsDeterministic(result.algo))) {
    return false;
  }
  return is_allowed == nullptr || is_allowed(result.algo);
}

template <typename Direction>
cudnnMathType_t ConvRule<Direction>::MathOf(
    const typename Direction::Result& result) const {
  // Conversion could be to float16.
  return math == CUDNN_FMA_MATH ||
                 result.mathType == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION
             ? math
             : result.mathType;
}

// Nothing: cuDNN does not support the algorithm after all.
template <typename Direction>
absl::StatusOr<std::optional<size_t>> ConvWorkspaceBytes(
    const LockedCudnn& cudnn, const ConvDescriptors& descriptors,
    const ConvAlgorithm<Direction>& candidate) {
  SPILLWAY_RETURN_IF_ERROR(SetMath(cudnn, descriptors, candidate.math));
  size_t bytes = 0;
  const cudnnStatus_t status =
      Direction::WorkspaceSize(cudnn, descriptors, candidate.algorithm, &bytes);
  if (status >= CUDNN_STATUS_NOT_SUPPORTED &&
      status < CUDNN_STATUS_INTERNAL_ERROR) {
    return std::nullopt;
  }
  SPILLWAY_RETURN_IF_ERROR(
      CudnnStatus(cudnn.api, status, Direction::kWorkspaceSizeName));
  return bytes;
}

template <typename Direction>
absl::StatusOr<std::vector<ConvAlgorithm<Direction>>> FindConvAlgorithms(
    const LockedCudnn& cudnn, const ConvDescriptors& descriptors,
    const ConvRule<Direction>& rule, const ConvWanted& wanted) {
  // The heuristic needs the math of the rule, not of the last candidate.
  SPILLWAY_RETURN_IF_ERROR(SetMath(cudnn, descriptors, rule.math));
  // An algorithm may occur twice, with and without tensor cores.
  std::array<typename Direction::Result, 2 * Direction::kAlgorithms> results;
  int count = 0;
  SPILLWAY_RETURN_IF_ERROR(CudnnStatus(
      cudnn.api,
      Direction::Find(cudnn, descriptors, static_cast<int>(results.size()),
                      &count, results.data()),
      Direction::kFindName));
  std::vector<ConvAlgorithm<Direction>> found;
  for (const typename Direction::Result& result :
       std::span(results).first(static_cast<size_t>(count))) {
    if (found.size() == wanted.most) break;
    if (!rule.Allows(result)) continue;
    ConvAlgorithm<Direction> candidate = {.algorithm = result.algo,
                                          .math = rule.MathOf(result)};
    if (!wanted.name.empty() && candidate.name() != wanted.name) continue;
    const auto is_same = [&](const ConvAlgorithm<Direction>& other) {
      return other.algorithm == candidate.algorithm &&
             other.math == candidate.math;
    };
    if (std::ranges::any_of(found, is_same)) continue;
    SPILLWAY_ASSIGN_OR_RETURN(
        const std::optional<size_t> bytes,
        ConvWorkspaceBytes(cudnn, descriptors, candidate));
    if (!bytes || *bytes > rule.most_workspace_bytes) continue;
    candidate.workspace_bytes = *bytes;
    found.push_back(candidate);
  }
  return found;
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_CONV_CONV_ALGORITHMS_H_
