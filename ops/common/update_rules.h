// The parameters of the optimizers' update rules, as kernels of every device
// take them; the headers of ops/update define each rule. Plain data: CUDA
// sources include it.
#ifndef SPILLWAY_OPS_COMMON_UPDATE_RULES_H_
#define SPILLWAY_OPS_COMMON_UPDATE_RULES_H_

namespace spillway {

// AccumulateGradient has no parameters: its weights are an input.
struct AccumulateRule {};

// The gradient that an update uses:
//
//   g = gradient_scale gradient + weight_decay variable
struct GradientRule {
  float scale = 1;
  float weight_decay = 0;
};

struct MomentumRule {
  GradientRule gradient = {};
  float momentum = 0;
  bool use_nesterov = false;
};

struct VelocityRule {
  GradientRule gradient = {};
  float momentum = 0;
  bool use_nesterov = false;

  // The step is of_old times the old velocity plus of_new times the new one.
  constexpr float of_old() const { return use_nesterov ? -momentum : 0; }
  constexpr float of_new() const { return use_nesterov ? 1 + momentum : 1; }
};

struct LarsRule {
  VelocityRule velocity = {};
  float eta = 0;
  float epsilon = 0;
  bool is_lbsgd = false;
};

// Limits of the ratio in LBSGD's form of LARS, and what its root adds.
inline constexpr double kLeastLbsgdRatio = 0.01;
inline constexpr double kMostLbsgdRatio = 100;
inline constexpr double kLbsgdEpsilon = 1e-18;

struct AdagradRule {
  GradientRule gradient = {};
  float epsilon = 0;
};

struct AdamRule {
  GradientRule gradient = {};
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
  float decoupled_weight_decay = 0;
};

struct RmsPropRule {
  GradientRule gradient = {};
  float decay = 0;
  float momentum = 0;
  float epsilon = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_UPDATE_RULES_H_
