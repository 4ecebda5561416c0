// The list of every op: one line an op in all_ops.cc, and nowhere else.
#ifndef SPILLWAY_OPS_ALL_OPS_H_
#define SPILLWAY_OPS_ALL_OPS_H_

#include "executor/kernel_registry.h"
#include "graph/op_registry.h"

namespace spillway {

// Schemas and kernels of all ops, built on first use and then constant.
const OpRegistry& StandardOps();
const KernelRegistry& StandardKernels();

}  // namespace spillway

#endif  // SPILLWAY_OPS_ALL_OPS_H_
