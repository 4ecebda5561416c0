// Gelu: an op from outside the library. y = x Phi(x), Phi being the normal
// distribution's: Hendrycks and Gimpel, arXiv:1606.08415. float32, any shape;
// on the CPU.
#ifndef OWN_OP_GELU_H_
#define OWN_OP_GELU_H_

#include "spillway/spillway.h"

// The ops Gelu and GeluGrad, which is Gelu's gradient, and their kernels.
void AddGelu(spillway::OpRegistry& ops);
void AddGeluKernels(spillway::KernelRegistry& kernels);

// The layer: a node "Gelu" in `scope`.
spillway::Tensor Gelu(const spillway::NameScope& scope, spillway::Tensor x);

#endif  // OWN_OP_GELU_H_
