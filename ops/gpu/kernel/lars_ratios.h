// The ratios that ApplyLars multiplies the learning rate by
// (ops/update/optimizer_updates.h), on the GPU. Each tensor is cut into parts
// whose number depends on its size only; one block sums the squares of a part,
// and another adds the sums of a tensor's parts, always in the same order.
#ifndef SPILLWAY_OPS_GPU_KERNEL_LARS_RATIOS_H_
#define SPILLWAY_OPS_GPU_KERNEL_LARS_RATIOS_H_

#include <cstdint>

#include "ops/common/update_rules.h"
#include "ops/gpu/kernel/updates.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

// UpdateTensors::workspace for `count` tensors of at most `most_elements` each:
// at most a few MiB.
int64_t LarsWorkspaceBytes(int count, int64_t most_elements);

// Fills *ratios, one for each tensor, which is in the workspace.
LaunchError LarsRatios(StreamHandle stream, const LarsRule& rule,
                       const UpdateTensors& tensors, const double** ratios);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_LARS_RATIOS_H_
