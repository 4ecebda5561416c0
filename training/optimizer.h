// Optimizers: append the backward pass and the update of every trainable
// variable to the graph under construction.
//
//   Minimize(g.Scope("momentum_optimizer"), loss, Momentum{.momentum = 0.9});
//
// Names, under the given scope: gradients/... for the backward nodes,
// update/<variable>/Apply..., slots/<variable>/... (Variable nodes that are not
// trainable, so that planner, LMS and checkpoints include them), and
// learning_rate, a constant unless the rate is fed.
#ifndef SPILLWAY_TRAINING_OPTIMIZER_H_
#define SPILLWAY_TRAINING_OPTIMIZER_H_

#include <string_view>
#include <variant>

#include "graph/builder/builder.h"

namespace spillway {

// w <- w - rate * g
struct Sgd {
  double learning_rate = 0.01;
};

// a <- momentum * a + g;  w <- w - rate * a
// Nesterov:               w <- w - rate * (g + momentum * a)
// Source: Sutskever et al., ICML 2013, in TensorFlow's form.
struct Momentum {
  double learning_rate = 0.01;
  double momentum = 0.9;
  bool use_nesterov = false;
};

// m <- beta1 * m + (1 - beta1) * g;  v <- beta2 * v + (1 - beta2) * g^2
// w <- w - rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)
// Source: Kingma and Ba, ICLR 2015, the form before section 2.1.
struct Adam {
  double learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

// s <- decay * s + (1 - decay) * g^2
// a <- momentum * a + rate * g / sqrt(s + epsilon);  w <- w - a
// Source: Tieleman and Hinton, lecture 6.5, 2012, in TensorFlow's form.
struct RmsProp {
  double learning_rate = 0.001;
  double decay = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-10;
};

using Optimizer = std::variant<Sgd, Momentum, Adam, RmsProp>;

// "sgd", "momentum", "adam" or "rmsprop" with default settings. Errors:
// INVALID_ARGUMENT for any other name.
absl::StatusOr<Optimizer> ParseOptimizer(std::string_view name);

struct MinimizeOptions {
  // A float32 scalar that holds the learning rate of each step, in place of the
  // optimizer's. Invalid: use the optimizer's rate.
  Tensor learning_rate_feed = {};
  // Added to the gradient as weight_decay * w, for variables with two or more
  // dimensions: for weights, but not for biases and batch norm.
  double weight_decay = 0;
  // The backward pass starts from this instead of 1, and updates first multiply
  // gradients by 1 / loss_scale: keeps small gradients from vanishing in
  // float16. Exact for a power of two, unless a value overflows.
  double loss_scale = 1;
};

// INVALID_ARGUMENT unless the scale and its inverse are positive and finite in
// float32.
absl::Status CheckLossScale(double loss_scale);

// Makes each step of the graph decrease `loss`, a float32 scalar. Variables are
// updated in order of creation; variables that `loss` does not depend on are
// not updated. Every other reader of a variable is ordered before its update.
//
// A variable has one update per step, so a second Minimize over the same
// variables is refused, in any scope. To train two losses together, add them:
// Minimize(scope, loss_a + loss_b, ...). Two calls may train two networks that
// share no variable, each in its own scope. Errors (kept in the builder):
// INVALID_ARGUMENT for a negative or infinite learning rate or weight decay, if
// there is nothing to train, or, naming scope and variable, for a variable that
// already has an update; errors of AddGradients.
void Minimize(const NameScope& scope, Tensor loss, const Optimizer& optimizer,
              const MinimizeOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_OPTIMIZER_H_
