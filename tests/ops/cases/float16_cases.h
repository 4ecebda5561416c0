// The float16 twins of bfloat16 cases.
#ifndef SPILLWAY_TESTS_OPS_CASES_FLOAT16_CASES_H_
#define SPILLWAY_TESTS_OPS_CASES_FLOAT16_CASES_H_

#include "tests/ops/cases/op_case.h"

namespace spillway::testing {

// Replaces bfloat16 by float16, also in the name. If an output may be off by
// one rounding to the eight bits of a bfloat16, 2^-8, that of the twin may be
// off by one rounding to eleven bits, 2^-11, of a float32 sum that is itself
// off by 2^-13.
OpCase Float16Twin(OpCase op_case);

// Fills `cases.only_on_gpu`: moves the good cases that have a float16 tensor
// there, and adds the twin of every bfloat16 case unless a case of this name
// exists.
void AddFloat16Cases(OpCases& cases);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_CASES_FLOAT16_CASES_H_
