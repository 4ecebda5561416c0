// The updates of variables on the GPU, in place and in float32;
// ops/update/optimizer_updates.h and ops/update/accumulate_gradient.h define
// each.
#ifndef SPILLWAY_OPS_GPU_KERNEL_UPDATES_H_
#define SPILLWAY_OPS_GPU_KERNEL_UPDATES_H_

#include <cstddef>
#include <cstdint>

#include "ops/common/update_rules.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

// Device memory of one variable and its slots: n elements each.
struct UpdateTensor {
  int64_t n = 0;
  const float* gradient = nullptr;
  float* variable = nullptr;
  float* slots[3] = {};  // in the order of the op's inputs
};

// Limit per launch: the table of tensors is a parameter of less than 4 KiB.
inline constexpr size_t kMostUpdateTensors = 64;

struct UpdateTensors {
  const UpdateTensor* tensors = nullptr;  // host memory, borrowed for the call
  int count = 0;                          // 1 ... kMostUpdateTensors
  // The learning rate; the weights of AccumulateRule. Device memory.
  const float* shared = nullptr;
  void* workspace = nullptr;  // of rules that say so
};

// AccumulateGradient
LaunchError Update(StreamHandle stream, const AccumulateRule& rule,
                   const UpdateTensors& tensors);
// ApplyGradientDescent
LaunchError Update(StreamHandle stream, const GradientRule& rule,
                   const UpdateTensors& tensors);
LaunchError Update(StreamHandle stream, const MomentumRule& rule,
                   const UpdateTensors& tensors);
LaunchError Update(StreamHandle stream, const VelocityRule& rule,
                   const UpdateTensors& tensors);
// Needs the workspace of lars_ratios.h.
LaunchError Update(StreamHandle stream, const LarsRule& rule,
                   const UpdateTensors& tensors);
LaunchError Update(StreamHandle stream, const AdagradRule& rule,
                   const UpdateTensors& tensors);
// Slot 2, the powers of both betas, has two elements.
LaunchError Update(StreamHandle stream, const AdamRule& rule,
                   const UpdateTensors& tensors);
LaunchError Update(StreamHandle stream, const RmsPropRule& rule,
                   const UpdateTensors& tensors);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_UPDATES_H_
