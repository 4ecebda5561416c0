#include "ops/collective/sparse_all_reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "graph/well_known_ops.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

// `each`: inputs of a group, x first.
absl::StatusOr<std::vector<TensorType>> Infer(const InferContext& node,
                                              size_t each) {
  SPILLWAY_RETURN_IF_ERROR(ReadSparsity(node.attributes).status());
  std::vector<TensorType> outputs;
  for (size_t i = 0; i + 1 < node.inputs.size(); i += each) {
    const TensorType& x = node.inputs[i];
    SPILLWAY_RETURN_IF_ERROR(
        ExpectDType(fmt::format("x {}", i / each), x, DType::kFloat32));
    for (size_t other = i + 1; other < i + each; ++other) {
      SPILLWAY_RETURN_IF_ERROR(ExpectType(fmt::format("residual {}", i / each),
                                          node.inputs[other], x, "x"));
    }
    outputs.push_back(x);
  }
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("weight", node.inputs.back(), {.shape = {}}, "a number"));
  return outputs;
}

OpCost Cost(const OpContext& node) {
  OpCost cost = {.bytes = TouchedBytes(node)};
  for (const TensorType& output : node.outputs) {
    cost.flops += static_cast<double>(output.num_elements());
  }
  return cost;
}

OpDef SparseDef(std::string_view name) {
  return {.name = std::string(name),
          .inputs = {"x"},
          .outputs = {"y"},
          .attributes = {"topk_fraction", "min_magnitude"},
          .cost = Cost,
          .recompute = RecomputeRule::kNever};
}

}  // namespace

int64_t Sparsity::Top(int64_t elements) const {
  const double top = std::ceil(topk_fraction * static_cast<double>(elements));
  return std::min(static_cast<int64_t>(top), elements);
}

absl::StatusOr<Sparsity> ReadSparsity(const Attributes& attributes) {
  Sparsity sparsity;
  SPILLWAY_ASSIGN_OR_RETURN(sparsity.topk_fraction,
                            attributes.GetReal("topk_fraction", 0));
  if (!(sparsity.topk_fraction >= 0 && sparsity.topk_fraction <= 1)) {
    return InvalidArgument(
        fmt::format("attribute 'topk_fraction' must be from 0 to 1; it is {}",
                    sparsity.topk_fraction));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const double least,
                            attributes.GetReal("min_magnitude", 0));
  sparsity.min_magnitude = static_cast<float>(least);
  if (!(sparsity.min_magnitude >= 0) ||
      !std::isfinite(sparsity.min_magnitude)) {
    return InvalidArgument(fmt::format(
        "attribute 'min_magnitude' must be a float32 from 0 on; it is {}",
        least));
  }
  return sparsity;
}

Op SparseAllReduce() {
  OpDef def = SparseDef(kSparseAllReduce);
  def.inputs.emplace_back("weight");
  def.group_inputs = 1;
  def.infer = [](const InferContext& node) { return Infer(node, 1); };
  return {.def = std::move(def),
          .kernels = {{DeviceKind::kCpu, SparseAllReduceCpu}}};
}

Op ErrorFeedbackAllReduce() {
  OpDef def = SparseDef(kErrorFeedbackAllReduce);
  def.inputs.emplace_back("residual");
  def.inputs.emplace_back("weight");
  def.group_inputs = 2;
  def.infer = [](const InferContext& node) { return Infer(node, 2); };
  def.in_place = {{.input = 0, .output = 0}};
  def.in_place_together = true;
  def.mutates = {1};
  return {.def = std::move(def),
          .kernels = {{DeviceKind::kCpu, ErrorFeedbackAllReduceCpu}}};
}

}  // namespace spillway::ops
