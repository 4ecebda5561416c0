#include "ops/array/swap.h"

#include <string>
#include <string_view>
#include <vector>

#include "graph/well_known_ops.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferSwap(const InferContext& node) {
  return std::vector{node.inputs[0]};
}

Op Copy(std::string_view name) {
  return {.def = {.name = std::string(name),
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .infer = InferSwap,
                  .recompute = RecomputeRule::kNever}};
}

}  // namespace

Op SwapIn() { return Copy(kSwapIn); }
Op SwapOut() { return Copy(kSwapOut); }
Op CopyToHost() { return Copy(kCopyToHost); }
Op CopyToDevice() { return Copy(kCopyToDevice); }

}  // namespace spillway::ops
