// The function train of Python.
#ifndef SPILLWAY_PYTHON_MODULE_RUNNING_TRAIN_H_
#define SPILLWAY_PYTHON_MODULE_RUNNING_TRAIN_H_

#include "pybind11/pybind11.h"

namespace spillway::python {

void BindTrain(pybind11::module_& module);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_RUNNING_TRAIN_H_
