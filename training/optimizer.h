// Optimizers: append the backward pass and the update of every trainable
// variable to the graph that is being built.
//
//   Minimize(g.Scope("momentum_optimizer"), loss, Momentum{.momentum = 0.9});
//
// Names, under the scope given: gradients/... the backward nodes,
// update/<variable>/Apply..., slots/<variable>/... (Variable nodes that are not
// trainable, so that planner, LMS and checkpoints see and count them), and
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

// "sgd", "momentum", "adam", "rmsprop" with default settings. Errors:
// INVALID_ARGUMENT for another name.
absl::StatusOr<Optimizer> ParseOptimizer(std::string_view name);

struct MinimizeOptions {
  // A float32 scalar to read the learning rate from, in every step, instead of
  // the optimizer's own. Invalid: the optimizer's own.
  Tensor learning_rate_feed = {};
  // Added to the gradient as weight_decay * w, for variables of two and more
  // dimensions: weights, but neither biases nor batch norm.
  double weight_decay = 0;
  // The backward phase starts from this in place of 1, and updates multiply
  // gradients by 1 / loss_scale before anything else: small gradients in
  // float16 do not vanish. Exact for a power of two, as long as nothing
  // overflows.
  double loss_scale = 1;
};

// INVALID_ARGUMENT unless the scale and its inverse are positive and finite in
// float32.
absl::Status CheckLossScale(double loss_scale);

// Makes a step of the graph decrease `loss`, a float32 scalar. Variables are
// updated in order of creation; those that `loss` does not depend on stay as
// they are. Every other reader of a variable is ordered before its update.
//
// A variable has one update in a step, so a second Minimize over the same
// variables is refused, whatever its scope. Two losses are trained together by
// adding them up: Minimize(scope, loss_a + loss_b, ...). Two calls may train
// two networks that share no variable, each under a scope of its own.
// Errors (kept in the builder): INVALID_ARGUMENT for a negative or infinite
// learning rate or weight decay, when there is nothing to train, or naming the
// scope and the variable that is updated already; what AddGradients says.
void Minimize(const NameScope& scope, Tensor loss, const Optimizer& optimizer,
              const MinimizeOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_OPTIMIZER_H_
