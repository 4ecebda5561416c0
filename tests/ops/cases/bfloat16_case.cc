#include "tests/ops/cases/bfloat16_case.h"

#include <algorithm>

namespace spillway::testing {
namespace {

void Narrow(size_t place, const std::vector<int>& stays, TensorType& type) {
  const bool narrows =
      std::ranges::find(stays, static_cast<int>(place)) == stays.end();
  if (narrows && type.dtype == DType::kFloat32) type.dtype = DType::kBFloat16;
}

}  // namespace

OpCase InBFloat16(OpCase base, const StaysFloat32& stays) {
  base.name += "InBFloat16";
  base.tolerance = std::max(base.tolerance, 0x1p-8);
  base.gradient_tolerance = std::max(base.gradient_tolerance, 0x1p-6);
  for (size_t i = 0; i < base.inputs.size(); ++i) {
    Narrow(i, stays.inputs, base.inputs[i].type);
  }
  for (size_t i = 0; i < base.outputs.size(); ++i) {
    Narrow(i, stays.outputs, base.outputs[i]);
  }
  return base;
}

std::vector<OpCase> AllInBFloat16(const std::vector<OpCase>& bases,
                                  const StaysFloat32& stays) {
  std::vector<OpCase> cases;
  for (const OpCase& base : bases) cases.push_back(InBFloat16(base, stays));
  return cases;
}

}  // namespace spillway::testing
