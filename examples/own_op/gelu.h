// Gelu: an op from outside the library. y = x Phi(x), where Phi is the
// cumulative distribution function of the standard normal distribution
// (Hendrycks and Gimpel, arXiv:1606.08415). float32, any shape, CPU only.
#ifndef OWN_OP_GELU_H_
#define OWN_OP_GELU_H_

#include "spillway/spillway.h"

// Add the ops Gelu and GeluGrad (the gradient of Gelu), and their kernels.
void AddGelu(spillway::OpRegistry& ops);
void AddGeluKernels(spillway::KernelRegistry& kernels);

// Adds a node "Gelu" in `scope`.
spillway::Tensor Gelu(const spillway::NameScope& scope, spillway::Tensor x);

#endif  // OWN_OP_GELU_H_
