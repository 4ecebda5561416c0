// A derived node (OpDef::derive) as a case of its own, to compare its output
// with that of its original.
#ifndef SPILLWAY_TESTS_OPS_CASES_DERIVED_CASE_H_
#define SPILLWAY_TESTS_OPS_CASES_DERIVED_CASE_H_

#include <optional>

#include "tests/ops/cases/op_case.h"
#include "tests/ops/cases/run_op_case.h"

namespace spillway::testing {

// The node that computes output `output` of the case again, with inputs as they
// were before `run`, a run of the case, and outputs of that run. nullopt if the
// op cannot derive the output.
std::optional<OpCase> DerivedCase(const OpCase& op_case, const OpRun& run,
                                  int output);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_CASES_DERIVED_CASE_H_
