// Checks the gradient of a user's op against finite differences:
//
//   OpRegistry ops = ...;          // with the op, Placeholder and Variable
//   KernelRegistry kernels = ...;  // with a CPU kernel of it
//   EXPECT_TRUE(CheckGradients({.op = "Swish",
//                               .inputs = {{DType::kFloat32, {3, 4}}},
//                               .ops = &ops,
//                               .kernels = &kernels}).ok());
//
// The loss is the sum of the outputs times fixed random weights. Its gradient
// is computed by the nodes that OpDef::gradient adds, and by central
// differences of the op's own kernel; both run on the device "inline". Inputs
// should be further than `step` from kinks (the zero of a ReLU, equal elements
// of a maximum).
#ifndef SPILLWAY_TRAINING_CHECK_GRADIENTS_H_
#define SPILLWAY_TRAINING_CHECK_GRADIENTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/kernel_registry.h"
#include "executor/standard_kernels.h"
#include "graph/attributes.h"
#include "graph/op_registry.h"
#include "graph/standard_ops.h"
#include "graph/tensor_type.h"

namespace spillway {

struct GradientCheck {
  std::string op = {};
  std::vector<TensorType> inputs = {};
  Attributes attributes = {};
  // The elements of some inputs, row-major, each representable in the dtype.
  // Other inputs are random: standard normal for float32, else 0.
  std::map<int, std::vector<double>> values = {};
  // Inputs to differentiate by, float32. Empty: all float32 inputs for which
  // the op has a gradient.
  std::vector<int> differentiate_by = {};
  // Float32 outputs that the loss includes.
  std::vector<int> outputs = {0};

  // Each element is moved up and down by this.
  double step = 1e-2;
  // Gradients differ when |graph - differences| > tolerance * max(1,
  // |differences|). Float32 kernels reach about 1e-3.
  double tolerance = 1e-2;
  uint64_t seed = 0;  // of random values, weights and random ops

  // Borrowed for the call. For the default registries link spillway::ops.
  const OpRegistry* ops = &StandardOps();
  const KernelRegistry* kernels = &StandardKernels();
};

// The element with the largest error of the gradient by one input, relative to
// max(1, |differences|).
struct GradientDifference {
  int input = 0;
  size_t element = 0;      // row-major
  double graph = 0;        // by the op's gradient function
  double differences = 0;  // by central differences
  double error = 0;        // |graph - differences| / max(1, |differences|)
};

// One entry for each input that is differentiated by. Cost: two runs of the op
// for each of their elements. Errors: INVALID_ARGUMENT for an impossible check
// (inputs or outputs that do not exist or have another dtype; values that the
// dtype cannot represent; an input of differentiate_by without a gradient;
// nothing to check); errors of the op, its gradient and its kernels.
absl::StatusOr<std::vector<GradientDifference>> CompareGradients(
    const GradientCheck& check);

// CompareGradients with a verdict. Errors: as above; FAILED_PRECONDITION naming
// op, input and element if the gradients differ by more than the tolerance.
absl::Status CheckGradients(const GradientCheck& check);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_CHECK_GRADIENTS_H_
