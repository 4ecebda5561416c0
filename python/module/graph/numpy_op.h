// Ops whose kernels are functions of Python over NumPy arrays, for prototypes:
//
//   NumPyOp       function, outputs   x... -> y...
//   NumPyOpGrad   function, ...       x..., y..., dy... -> dx of each wanted x
//
// The attribute `function` names an entry of a table of this process, so a
// graph that was saved runs only where the same functions are in use.
#ifndef SPILLWAY_PYTHON_MODULE_GRAPH_NUMPY_OP_H_
#define SPILLWAY_PYTHON_MODULE_GRAPH_NUMPY_OP_H_

#include <memory>
#include <string>
#include <vector>

#include "executor/kernel_registry.h"
#include "graph/op_registry.h"
#include "pybind11/pybind11.h"

namespace spillway::python {

class Builder;  // python/module/graph/graph_builder.h
struct Value;

// Those of the library, and the two ops; for all graphs and sessions of the
// module.
const OpRegistry& Ops();
const KernelRegistry& Kernels();

// Adds a node; returns its output, or the list of its outputs if there are
// several. `outputs`: a list of (dtype, shape), or None, which asks `forward`
// with zeros. Throws InvalidArgument for types that do not fit, and what
// `forward` throws. The GIL must be held.
pybind11::object AddNumPyOp(Builder& g, const std::string& name,
                            const std::vector<Value>& inputs,
                            const pybind11::object& forward,
                            const pybind11::object& backward,
                            const pybind11::object& outputs);

extern const char* const kNumPyOpDoc;

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_GRAPH_NUMPY_OP_H_
