// The two halves of Minimize (training/optimizer.h): the gradients of a graph's
// variables, and the updates from gradients.
#ifndef SPILLWAY_TRAINING_VARIABLE_UPDATES_H_
#define SPILLWAY_TRAINING_VARIABLE_UPDATES_H_

#include <span>
#include <vector>

#include "graph/builder/builder.h"
#include "training/optimizer.h"

namespace spillway {

struct VariableGradient {
  Tensor variable = {};
  Tensor gradient = {};  // of the variable's type
};

// Adds the backward phase of `loss` under `scope`/gradients. Returns the
// trainable variables that it reaches and the options do not freeze, in order
// of creation; nothing after an error. `fed_scale`: as for AddGradients. Errors
// (kept in the builder): those of AddGradients; after the scope's name,
// INVALID_ARGUMENT for a loss scale that is out of range and settings of
// variables that do not exist.
std::vector<VariableGradient> GradientsToApply(const NameScope& scope,
                                               Tensor loss,
                                               const MinimizeOptions& options,
                                               Tensor fed_scale = {});

// Fails the builder if there is nothing to train.
void RequireGradients(const NameScope& scope,
                      std::span<const VariableGradient> gradients);

// The sum of the squares of all gradients, a scalar. It is not finite if one of
// them is not.
Tensor SquareSumOf(const NameScope& scope,
                   std::span<const VariableGradient> gradients);

// Adds the slots and the updates under `scope`, in the given order, of the
// gradients as the options reduce and clip them. Errors (kept in the builder):
// as for Minimize, but for those of the gradients. Returns what Minimize does.
Tensor ReduceAndUpdate(const NameScope& scope,
                       std::span<const VariableGradient> gradients,
                       const Optimizer& optimizer,
                       const MinimizeOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_VARIABLE_UPDATES_H_
