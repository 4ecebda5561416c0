// Predictions and plans: memory, simulate, tune, and what they return.
#ifndef SPILLWAY_PYTHON_MODULE_PLANNING_TUNING_H_
#define SPILLWAY_PYTHON_MODULE_PLANNING_TUNING_H_

#include <cstdint>
#include <optional>

#include "pybind11/pybind11.h"
#include "python/module/graph/step.h"
#include "tuner/tune.h"

namespace spillway::python {

// A result of tune, with the step that was tuned.
struct Plan {
  StepPtr step = {};
  Program program = {};  // the step's, with its nodes on device and host
  // Of the program alone, in the budget that the update leaves to it.
  TuneResult result = {};
  int64_t update_bytes = 0;                   // Step::update_bytes
  std::optional<int64_t> device_memory = {};  // the budget with these
};

void BindTuning(pybind11::module_& module);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_PLANNING_TUNING_H_
