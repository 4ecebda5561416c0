// Optimizers, and how a step trains, from Python's arguments.
#ifndef SPILLWAY_PYTHON_MODULE_GRAPH_OPTIMIZERS_H_
#define SPILLWAY_PYTHON_MODULE_GRAPH_OPTIMIZERS_H_

#include <cstdint>

#include "pybind11/pybind11.h"
#include "python/module/running/workers.h"
#include "training/loop/micro_batches.h"
#include "training/loop/training_programs.h"

namespace spillway::python {

// One class for each optimizer: Sgd, Momentum, Adam, ...
void BindOptimizers(pybind11::module_& module);

struct TrainingSettings {
  TrainingProgramsSpec spec = {};  // all but name and forward
  int64_t accumulate = 1;          // StepTraining::accumulate
  WorkersPtr workers = {};

  // Whose programs are those of any number of rows, in micro-batches of one
  // size, which the model knows.
  MicroBatchPlan plan() const;
};

// From an optimizer of these classes, or its name, and keyword arguments:
// weight_decay, clip_norm, clip_value, loss_scale, fused_update, freeze,
// feed_learning_rate, accumulate, workers and what they exchange (docs/
// workers.md), passes, device. Throws InvalidArgument naming one that is
// unknown.
TrainingSettings TrainingSettingsFrom(pybind11::handle optimizer,
                                      const pybind11::kwargs& settings);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_GRAPH_OPTIMIZERS_H_
