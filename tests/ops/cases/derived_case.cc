#include "tests/ops/cases/derived_case.h"

#include <fmt/format.h>

#include <vector>

#include "graph/parts.h"
#include "ops/all_ops.h"

namespace spillway::testing {

std::optional<OpCase> DerivedCase(const OpCase& op_case, const OpRun& run,
                                  int output) {
  const OpDef& def = *StandardOps().Find(op_case.op);
  if (def.derive == nullptr) return std::nullopt;
  std::vector<TensorType> types;
  for (const CaseInput& input : op_case.inputs) types.push_back(input.type);
  const std::optional<DerivedNode> derived =
      DeriveWithParts(def,
                      {.attributes = op_case.attributes,
                       .inputs = types,
                       .outputs = op_case.outputs},
                      output);
  if (!derived) return std::nullopt;
  const std::vector<HostTensor> before = MakeInputs(op_case);
  OpCase result = {.name = fmt::format("{}Derived{}", op_case.name, output),
                   .op = derived->op,
                   .attributes = derived->attributes,
                   .outputs = {op_case.outputs[static_cast<size_t>(output)]},
                   .needs_avx512 = op_case.needs_avx512};
  for (const DerivedInput& input : derived->inputs) {
    const auto index = static_cast<size_t>(input.index);
    const HostTensor& tensor =
        input.is_output ? run.outputs[index] : before[index];
    result.inputs.push_back({.type = tensor.type,
                             .fill = Fill::kValues,
                             .values = ToDoubles(tensor)});
  }
  return result;
}

}  // namespace spillway::testing
