// Optimizers, and the settings of Minimize, from Python's arguments.
#ifndef SPILLWAY_PYTHON_MODULE_OPTIMIZERS_H_
#define SPILLWAY_PYTHON_MODULE_OPTIMIZERS_H_

#include <string>

#include "pybind11/pybind11.h"
#include "training/optimizer.h"

namespace spillway::python {

// One class for each optimizer: Sgd, Momentum, Adam, ...
void BindOptimizers(pybind11::module_& module);

// How a step trains.
struct Minimization {
  Optimizer optimizer = Sgd();
  MinimizeOptions options = {};
  // The learning rate is a feed, "learning_rate".
  bool feeds_rate = false;
  std::string passes = "auto";  // SelectPasses
  std::string device = {};      // for which passes are chosen

  // Of backward phase, slots and update: "momentum_optimizer".
  std::string scope() const;
};

// From an optimizer of these classes, or its name, and keyword arguments:
// weight_decay, clip_norm, clip_value, loss_scale, fused_update, freeze,
// feed_learning_rate, passes, device. Throws InvalidArgument naming one that is
// unknown.
Minimization MinimizationFrom(pybind11::handle optimizer,
                              const pybind11::kwargs& settings);

}  // namespace spillway::python

#endif  // SPILLWAY_PYTHON_MODULE_OPTIMIZERS_H_
