// Cases of convolutions, of their gradients and of transposed convolutions, in
// two or three spatial dimensions, with naive references.
#ifndef SPILLWAY_TESTS_OPS_CASES_CONV_CASE_H_
#define SPILLWAY_TESTS_OPS_CASES_CONV_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/ops/cases/op_case.h"

namespace spillway::testing {

using Sizes = std::vector<int64_t>;  // one for each spatial dimension

// `y` and `pad_before` are computed by hand.
struct Conv {
  std::string name;
  Shape x;
  Shape filter;
  Shape y;
  std::string padding = "VALID";
  Sizes pad_before = {};  // none: zeros
  Sizes pad_after = {};   // EXPLICIT only
  Sizes strides = {};     // none: ones
  Sizes dilations = {};   // none: ones
  int64_t groups = 1;
  bool is_small = true;  // small enough for central differences
};

// The convolution and its two gradients, or its transpose; the input gradient
// of a pointwise convolution with an addend too. Each once in float32
// and twice in bfloat16; in those named ...Mixed, filters and their gradients
// are float32.
std::vector<OpCase> CasesOf(const Conv& conv);
std::vector<OpCase> TransposeCasesOf(const Conv& conv);

// Makes the bad cases of `op` whose inputs are float32, named op + `name`.
struct BadConv {
  std::string op;

  BadOp operator()(const std::string& name, const Shape& x, const Shape& filter,
                   Attributes attributes, const std::string& error) const;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_CASES_CONV_CASE_H_
