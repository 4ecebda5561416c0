// The bfloat16 twin of a float32 case.
#ifndef SPILLWAY_TESTS_OPS_CASES_BFLOAT16_CASE_H_
#define SPILLWAY_TESTS_OPS_CASES_BFLOAT16_CASE_H_

#include <vector>

#include "tests/ops/cases/op_case.h"

namespace spillway::testing {

// Inputs and outputs that stay float32 in mixed precision: parameters,
// statistics, losses.
struct StaysFloat32 {
  std::vector<int> inputs = {};
  std::vector<int> outputs = {};
};

// `base`, renamed <name>InBFloat16, with its float32 tensors in bfloat16 except
// those that stay. The reference gets the inputs rounded to bfloat16, and an
// output may be off by one rounding to eight bits: tolerance 2^-8; for
// gradients, which pass through several nodes, 2^-6.
OpCase InBFloat16(OpCase base, const StaysFloat32& stays = {});

// InBFloat16 of each case.
std::vector<OpCase> AllInBFloat16(const std::vector<OpCase>& bases,
                                  const StaysFloat32& stays = {});

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_CASES_BFLOAT16_CASE_H_
