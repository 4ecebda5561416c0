// The parameters of the optimizers' update rules, as kernels of every device
// take them; ops/update/optimizer_updates.h defines each rule. Plain data: CUDA
// sources include it.
#ifndef SPILLWAY_OPS_COMMON_UPDATE_RULES_H_
#define SPILLWAY_OPS_COMMON_UPDATE_RULES_H_

namespace spillway {

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

struct AdamRule {
  GradientRule gradient = {};
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
};

struct RmsPropRule {
  GradientRule gradient = {};
  float decay = 0;
  float momentum = 0;
  float epsilon = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_UPDATE_RULES_H_
