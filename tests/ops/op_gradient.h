// The gradient of an OpCase, computed twice: by the graph that its gradient
// function builds, and by central differences of its reference.
//
//   loss = sum over gradient_outputs k of sum(y_k * w_k), w_k fixed and random
#ifndef SPILLWAY_TESTS_OPS_OP_GRADIENT_H_
#define SPILLWAY_TESTS_OPS_OP_GRADIENT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tests/ops/cases/op_case.h"

namespace spillway::testing {

// d loss / d input for each of op_case.gradients, in that order.
absl::StatusOr<DoublesList> GraphGradients(const OpCase& op_case);

// The same by central differences, in double, one element at a time.
class ReferenceGradient {
 public:
  // `op_case` is borrowed.
  explicit ReferenceGradient(const OpCase& op_case);

  // d loss / d inputs[input][element]
  double At(int input, size_t element);

 private:
  double Loss() const;

  const OpCase& op_case_;
  DoublesList inputs_;
  DoublesList weights_;  // of each of op_case.gradient_outputs
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_OP_GRADIENT_H_
