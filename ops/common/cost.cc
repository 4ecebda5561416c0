#include "ops/common/cost.h"

namespace spillway {

int64_t TouchedBytes(const OpContext& node) {
  int64_t bytes = 0;
  for (const TensorType& type : node.inputs) bytes += type.num_bytes();
  for (const TensorType& type : node.outputs) bytes += type.num_bytes();
  return bytes;
}

std::function<OpCost(const OpContext&)> FlopsPerElement(double flops) {
  return [flops](const OpContext& node) -> OpCost {
    const auto elements = static_cast<double>(node.inputs[0].num_elements());
    return {.flops = flops * elements, .bytes = TouchedBytes(node)};
  };
}

OpCost NoCost(const OpContext& /*node*/) { return {}; }

OpCost ElementwiseCost(const OpContext& node) {
  return FlopsPerElement(1)(node);
}

}  // namespace spillway
