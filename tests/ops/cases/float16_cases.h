// The float16 twins of bfloat16 cases.
#ifndef SPILLWAY_TESTS_OPS_CASES_FLOAT16_CASES_H_
#define SPILLWAY_TESTS_OPS_CASES_FLOAT16_CASES_H_

#include "tests/ops/cases/op_case.h"

namespace spillway::testing {

// With float16 in the place of bfloat16, also in the name. Where an output may
// be off by one rounding to the eight bits of a bfloat16, 2^-8, that of the
// twin may be by one to eleven, 2^-11.
OpCase Float16Twin(OpCase op_case);

// Fills `cases.only_on_gpu`: with the good cases that have a float16 tensor,
// which are good no longer, and with the twin of every case in bfloat16 but
// those whose name is among them.
void AddFloat16Cases(OpCases& cases);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_CASES_FLOAT16_CASES_H_
