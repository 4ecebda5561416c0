// The classes GraphBuilder and Tensor of Python.
#ifndef SPILLWAY_PYTHON_MODULE_GRAPH_BUILDER_H_
#define SPILLWAY_PYTHON_MODULE_GRAPH_BUILDER_H_

#include "pybind11/pybind11.h"

namespace spillway::python {

void BindGraphBuilder(pybind11::module_& module);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_GRAPH_BUILDER_H_
