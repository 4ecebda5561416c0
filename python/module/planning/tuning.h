// Predictions and plans: memory, simulate, tune, and what they return.
#ifndef SPILLWAY_PYTHON_MODULE_PLANNING_TUNING_H_
#define SPILLWAY_PYTHON_MODULE_PLANNING_TUNING_H_

#include <cstdint>

#include "pybind11/pybind11.h"
#include "python/module/graph/step.h"
#include "python/module/options.h"
#include "tuner/tune.h"

namespace spillway::python {

// A result of tune, with the step that was tuned.
struct Plan {
  StepPtr step = {};
  Program program = {};  // the step's, with its nodes on device and host
  // Of the program alone, in the budget that the update leaves to it.
  TuneResult result = {};
};

// Milliseconds.
inline double Ms(int64_t ns) { return static_cast<double>(ns) * 1e-6; }

// The step's program with its nodes on device and host. Needs no GIL; throws
// the errors of PlaceProgram.
Program PlacedProgram(const Step& step, const RunOptions& options);

void BindTuning(pybind11::module_& module);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_PLANNING_TUNING_H_
