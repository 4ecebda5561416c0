// SquaredRelu: an op from outside the library. y = max(x, 0)^2 (So et al.,
// arXiv:2109.08668). float32, any shape, CPU only.
#ifndef OWN_OP_SQUARED_RELU_H_
#define OWN_OP_SQUARED_RELU_H_

#include "spillway/spillway.h"

// Add the ops SquaredRelu and SquaredReluGrad (the gradient of SquaredRelu),
// and their kernels.
void AddSquaredRelu(spillway::OpRegistry& ops);
void AddSquaredReluKernels(spillway::KernelRegistry& kernels);

// Adds a node "SquaredRelu" in `scope`.
spillway::Tensor SquaredRelu(const spillway::NameScope& scope,
                             spillway::Tensor x);

#endif  // OWN_OP_SQUARED_RELU_H_
