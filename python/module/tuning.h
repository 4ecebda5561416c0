// Predictions and plans: memory, simulate, tune, and what they return.
#ifndef SPILLWAY_PYTHON_MODULE_TUNING_H_
#define SPILLWAY_PYTHON_MODULE_TUNING_H_

#include "pybind11/pybind11.h"
#include "python/module/step.h"
#include "tuner/tune.h"

namespace spillway::python {

// A result of tune, with the step that was tuned.
struct Plan {
  StepPtr step = {};
  Program program = {};  // the step's, with its nodes on device and host
  TuneResult result = {};
};

void BindTuning(pybind11::module_& module);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_TUNING_H_
