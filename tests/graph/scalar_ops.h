// A dozen ops whose outputs have the type of their first input: enough to test
// the graph folder without the real ops.
#ifndef SPILLWAY_TESTS_GRAPH_SCALAR_OPS_H_
#define SPILLWAY_TESTS_GRAPH_SCALAR_OPS_H_

#include "graph/op_registry.h"

namespace spillway::testing {

// Sources: Placeholder, Variable (attributes dtype, shape), Const (and value).
// Differentiable: Identity (alias), Negate, Add, Mul, AddN, SinCos (two
// outputs). Not differentiable: Floor. StopGradient has an invalid gradient.
// Assign (variable, x): overwrites its input 0; output 0 is the new value.
// BadGradient: its gradient has the wrong type.
OpRegistry ScalarOps();

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_GRAPH_SCALAR_OPS_H_
