// The op by which an optimizer updates a variable, its slots and attributes.
#ifndef SPILLWAY_TRAINING_VARIABLE_UPDATE_H_
#define SPILLWAY_TRAINING_VARIABLE_UPDATE_H_

#include <string>
#include <vector>

#include "graph/builder/builder.h"
#include "training/optimizer.h"
#include "training/variable_settings.h"

namespace spillway {

struct VariableUpdate {
  std::string op = {};
  std::vector<Tensor> slots = {};  // its inputs between variable and gradient
  Attributes attributes = {};      // those of the optimizer alone
};

// Adds the slots, under `scope`.
VariableUpdate MakeVariableUpdate(const NameScope& scope, Tensor variable,
                                  const Optimizer& optimizer,
                                  const VariableSettings& settings);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_VARIABLE_UPDATE_H_
