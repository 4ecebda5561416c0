// The class Profile of Python: a machine, as it was measured.
#ifndef SPILLWAY_PYTHON_MODULE_PLANNING_PROFILE_H_
#define SPILLWAY_PYTHON_MODULE_PLANNING_PROFILE_H_

#include "pybind11/pybind11.h"
#include "tuner/step_options.h"

namespace spillway::python {

// A Profile, or the name of a shipped one, or the path of a file.
ProfileChoice ProfileFrom(pybind11::handle value);

void BindProfile(pybind11::module_& module);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_PLANNING_PROFILE_H_
