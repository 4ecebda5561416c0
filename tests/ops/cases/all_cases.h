// Every case of every op: one line per file in all_cases.cc.
#ifndef SPILLWAY_TESTS_OPS_CASES_ALL_CASES_H_
#define SPILLWAY_TESTS_OPS_CASES_ALL_CASES_H_

#include "tests/ops/cases/op_case.h"

namespace spillway::testing {

// Made at the first call.
const OpCases& AllOpCases();

// XCases() is in x_cases.cc, whose first line names its ops. Sorted.
OpCases ActivationCases();
OpCases AddCases();
OpCases BatchNormCases();
OpCases ChoiceCases();
OpCases ClassifyCases();
OpCases ClipCases();
OpCases CollectiveCases();
OpCases Conv2DCases();
OpCases Conv3DCases();
OpCases ConvTransposeCases();
OpCases DropoutCases();
OpCases GatherCases();
OpCases LayoutCases();
OpCases GroupNormCases();
OpCases LrnCases();
OpCases MatMulCases();
OpCases PoolCases();
OpCases ReduceCases();
OpCases SoftmaxCases();
OpCases SourceCases();
OpCases UnaryCases();
OpCases UpdateCases();

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_CASES_ALL_CASES_H_
