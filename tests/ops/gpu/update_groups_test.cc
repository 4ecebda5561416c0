// An update of several variables is bitwise identical to a separate update of
// each, on the CPU and on the GPU (without one: emulated).
#include <cstddef>
#include <string>
#include <vector>

#include "executor/kernel_registry.h"
#include "tests/ops/cases/all_cases.h"
#include "tests/ops/cases/run_op_case.h"
#include "tests/ops/gpu/emulated_kernel.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::CaseInput;
using testing::EmulatedKernel;
using testing::Fill;
using testing::OpCase;
using testing::OpRun;
using testing::RunOpCase;
using testing::RunOpOptions;

// Group `group` of `all` alone, with the values `inputs` of `all`.
OpCase OneOf(const OpCase& all, const std::vector<HostTensor>& inputs,
             size_t group) {
  const size_t each = (all.inputs.size() - 1) / all.outputs.size();
  const auto with_values = [&](size_t i) -> CaseInput {
    return {.type = all.inputs[i].type,
            .fill = Fill::kValues,
            .values = testing::ToDoubles(inputs[i])};
  };
  OpCase one = all;
  one.inputs.clear();
  for (size_t i = 0; i < each; ++i) {
    one.inputs.push_back(with_values(group * each + i));
  }
  one.inputs.push_back(with_values(all.inputs.size() - 1));
  one.outputs = {all.outputs[group]};
  return one;
}

void ExpectTheBitsOfSingleNodes(const OpCase& all,
                                const RunOpOptions& options) {
  ASSERT_OK_AND_ASSIGN(const OpRun together, RunOpCase(all, options));
  const std::vector<HostTensor> inputs = MakeInputs(all);
  const size_t each = (all.inputs.size() - 1) / all.outputs.size();
  for (size_t group = 0; group < all.outputs.size(); ++group) {
    ASSERT_OK_AND_ASSIGN(const OpRun alone,
                         RunOpCase(OneOf(all, inputs, group), options));
    EXPECT_EQ(together.outputs[group].bytes, alone.outputs[0].bytes)
        << "variable " << group;
    for (size_t i = 0; i < each; ++i) {
      EXPECT_EQ(together.inputs[group * each + i].bytes, alone.inputs[i].bytes)
          << "group " << group << ", input " << i;
    }
  }
}

TEST(UpdateGroupsTest, EachVariableGetsTheBitsOfANodeOfItsOwn) {
  int cases = 0;
  for (const OpCase& op_case : testing::UpdateCases().good) {
    if (op_case.outputs.size() == 1) continue;
    SCOPED_TRACE(op_case.name);
    ++cases;
    ExpectTheBitsOfSingleNodes(op_case, {});
    ExpectTheBitsOfSingleNodes(op_case,
                               {.factory = EmulatedKernel(op_case.op)});
  }
  // Few and many groups of each rule; many of LARS's second form too.
  EXPECT_EQ(cases, 17);
}

}  // namespace
}  // namespace spillway
