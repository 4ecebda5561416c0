// Cases whose inputs are parts of wider values (graph/parts.h).
#ifndef SPILLWAY_TESTS_OPS_CASES_PART_CASES_H_
#define SPILLWAY_TESTS_OPS_CASES_PART_CASES_H_

#include "tests/ops/cases/op_case.h"

namespace spillway::testing {

// Adds a twin of each good case whose op can read parts: every input that can
// be one has more channels before and after those that are read.
void AddPartCases(OpCases& cases);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_CASES_PART_CASES_H_
