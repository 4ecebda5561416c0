// Optimizers: append the backward pass and the update of every trainable
// variable to the graph under construction.
//
//   Minimize(g.Scope("momentum_optimizer"), loss, Momentum{.momentum = 0.9});
//
// Names, under the given scope: gradients/... for the backward nodes,
// update/<variable>/Apply..., slots/<variable>/... (Variable nodes that are not
// trainable, so that planner, LMS and checkpoints include them), and
// learning_rate, a constant unless the rate is fed. For each multiplier of the
// rate that is neither 0 nor 1: rate_multiplier, a constant, and
// multiplied_rate.
#ifndef SPILLWAY_TRAINING_OPTIMIZER_H_
#define SPILLWAY_TRAINING_OPTIMIZER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/builder/builder.h"
#include "training/workers/bucket_plan.h"
#include "training/workers/sparse_gradients.h"
#include "training/workers/wire_format.h"

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

// v <- momentum * v - rate * g;  w <- w + v
// Nesterov, where v0 is v before: w <- w - momentum * v0 + (1 + momentum) * v
// Unlike Momentum's a, v contains the rates of earlier steps: with a rate that
// changes, the two differ.
// Source: Sutskever et al., ICML 2013; Nesterov's form as in Bengio et al.,
// ICASSP 2013, section 3.5.
struct Velocity {
  double learning_rate = 0.01;
  double momentum = 0.9;
  bool use_nesterov = false;
};

enum class LarsForm : uint8_t {
  kCorrected,
  kLbsgd,  // that of MXNet's optimizer LBSGD
};

// v <- momentum * v - rate * ratio * g;  w <- w + v
//
// With s = |gradient| without its decay, decay = MinimizeOptions::weight_decay
// and |x| = sqrt(sum of x^2), ratio is
//
//   kCorrected  eta * |w| / (s + decay * |w| + epsilon), or 1 if |w| or s is 0;
//               Velocity updates the variables without decay (biases, batch
//               norm)
//   kLbsgd      sqrt(|w|^2 / (s^2 + decay * |w|^2 + 1e-18)), clamped to
//               [0.01, 100]; for variables without decay too
//
// Source: You, Gitman and Ginsburg, arXiv 1708.03888, algorithm 1, as MXNet 1.6
// computes it; MXNet 1.2 for LBSGD.
struct Lars {
  double learning_rate = 0.1;
  double momentum = 0.9;
  double eta = 0.001;
  double epsilon = 1e-8;
  LarsForm form = LarsForm::kCorrected;
};

// c <- c + g^2;  w <- w - rate * g / (sqrt(c) + epsilon)
// Source: Duchi, Hazan and Singer, JMLR 12 (2011), the diagonal form.
struct AdaGrad {
  double learning_rate = 0.01;
  double epsilon = 1e-6;
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

// Adam, after w <- w - rate * weight_decay * w for variables that decay. This
// decay is not a part of g, unlike MinimizeOptions::weight_decay, which should
// stay 0 here.
// Source: Loshchilov and Hutter, ICLR 2019, algorithm 2.
struct AdamW {
  double learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
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

using Optimizer =
    std::variant<Sgd, Momentum, Velocity, Lars, AdaGrad, Adam, AdamW, RmsProp>;

// "sgd", "momentum", "velocity", "nesterov" (Velocity with use_nesterov),
// "lars", "adagrad", "adam", "adamw" or "rmsprop", with default settings.
// Errors: INVALID_ARGUMENT for any other name.
absl::StatusOr<Optimizer> ParseOptimizer(std::string_view name);

// The variables that decay: by default, those with two or more dimensions, so
// weights, but not biases and batch norm.
struct DecayRule {
  // If not empty: instead, those whose name ends in "/" and one of these, or is
  // one of these.
  std::vector<std::string> names = {};
};

// Settings of the variable called `name`, or of all in the scope `name`.
struct VariableMultiplier {
  std::string name = {};
  double rate = 1;   // times the learning rate; 0: never updated, without slots
  double decay = 1;  // times the weight decay
};

// The gradients are added over all ranks of a run, each times its rank's
// weight, before they are clipped and applied
// (training/workers/reduce_gradients.h).
struct GradientReduction {
  // A float32 scalar, usually the rank's part of the rows of an update;
  // invalid: 1.
  Tensor weight = {};
  BucketSpec buckets = {};
  WireFormat wire = {};
  // Only some elements of them; nothing: all. `wire` is then the default.
  std::optional<SparseGradients> sparse = {};
};

// Variables are averaged over the ranks of a run, a part of them after each
// update (training/workers/average_in_turn.h).
struct AveragingInTurn {
  // An int32 scalar, fed: which part; -1: all.
  Tensor turn = {};
  int ranks = 1;
  // A part is the variables whose gradients would be a bucket.
  BucketSpec buckets = {};
  bool averages_slots = false;  // those shaped like their variable, too
};

struct MinimizeOptions {
  // A float32 scalar that holds the learning rate of each step, in place of the
  // optimizer's. Invalid: use the optimizer's rate.
  Tensor learning_rate_feed = {};
  // Added to the gradient as weight_decay * w, for variables that decay.
  double weight_decay = 0;
  DecayRule decay_rule = {};
  // Of several that name a variable, the last one applies.
  std::vector<VariableMultiplier> multipliers = {};
  // True: a variable is updated as soon as its gradient exists, which is then
  // freed. False: all of them after the last gradient, so all gradients are in
  // memory at once.
  bool fused_update = true;
  // Gradients, without their decay, are multiplied by min(1, clip_norm / norm),
  // where norm is that of all of them together; 0: not. All gradients are then
  // in memory at once.
  double clip_norm = 0;
  // Then each element is clipped to [-clip_value, clip_value]; 0: not.
  double clip_value = 0;
  // The backward pass starts from this instead of 1, and updates first multiply
  // gradients by 1 / loss_scale: keeps small gradients from vanishing in
  // float16. Exact for a power of two, unless a value overflows.
  double loss_scale = 1;
  // Whether Minimize returns the sum of the squares of all gradients, which is
  // not finite if one of them is not.
  bool sums_squares = false;
  // Nothing: there is only one rank, or `averaging`.
  std::optional<GradientReduction> reduction = {};
  std::optional<AveragingInTurn> averaging = {};
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
// INVALID_ARGUMENT for a negative or infinite learning rate, weight decay,
// limit of clipping or multiplier; for a multiplier that names no trainable
// variable or scope of one; if decay_rule has names, but no trainable variable
// has any of them; if there is nothing to train; or, naming scope and variable,
// for a variable that already has an update; errors of AddGradients. Returns
// what options.sums_squares asks for: a scalar, of the gradients before they
// are clipped and with their loss_scale; otherwise an invalid tensor.
Tensor Minimize(const NameScope& scope, Tensor loss, const Optimizer& optimizer,
                const MinimizeOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_OPTIMIZER_H_
