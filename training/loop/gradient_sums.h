// Gradient accumulation: one update from the gradients of several
// micro-batches, in the memory that the gradients of one need.
//
//   program "micro", for each micro-batch          program "update", once
//   forward and backward phase -> gradient         variable, slots, sum
//   sum <- weights[0] sum + weights[1] gradient      -> Apply...
//
// A sum is a variable that both programs have. It lives on the device between
// the steps, is counted in every plan, and is not saved: it means nothing after
// the update. The gradients themselves are freed one by one, as in a step that
// updates at once.
#ifndef SPILLWAY_TRAINING_LOOP_GRADIENT_SUMS_H_
#define SPILLWAY_TRAINING_LOOP_GRADIENT_SUMS_H_

#include <string>
#include <vector>

#include "graph/attributes.h"
#include "graph/builder/builder.h"
#include "training/optimizer.h"

namespace spillway {

// The variables that are trained, and their sums, for another graph.
struct GradientSums {
  struct Summed {
    std::string variable = {};
    Attributes attributes = {};  // of the variable
    std::string sum = {};        // name of its sum
  };
  std::vector<Summed> summed = {};  // in order of creation
  // Of the sums after this micro-batch; with MinimizeOptions::sums_squares.
  Tensor square_sum = {};
};

// Adds the backward phase of `loss`, a float32 scalar, and a sum for each
// variable that is trained, under `scope`: gradients/..., as Minimize, and
// gradient_sums/<variable>/sum. `weights`: float32 [2], the factors on the sums
// so far (0 for the first micro-batch) and on the gradients of this one. Of
// `options`, only multipliers, loss_scale and sums_squares matter here.
// `fed_scale`: as for AddGradients. Errors (kept in the builder): as Minimize.
GradientSums SumGradients(const NameScope& scope, Tensor loss, Tensor weights,
                          const MinimizeOptions& options,
                          Tensor fed_scale = {});

// The update of all variables from their sums, in a builder of its own, which
// gets the variables. The same names as Minimize with this scope: checkpoints
// fit both. Errors (kept in the builder): as Minimize.
void MinimizeSums(const NameScope& scope, const GradientSums& sums,
                  const Optimizer& optimizer, const MinimizeOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_LOOP_GRADIENT_SUMS_H_
