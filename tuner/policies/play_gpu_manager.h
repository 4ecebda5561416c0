// Plays a step with the memory manager of SystemML's GPU backend
// (gpu_memory_manager.h). Each kernel locks what it reads and writes, and
// waits for its allocations and copies; nothing overlaps, as in the original,
// which copies with cudaMemcpy.
//
// Approximated: SystemML's variables are matrices like all others; here the
// residents of the plan stay on the device for all policies.
#ifndef SPILLWAY_TUNER_POLICIES_PLAY_GPU_MANAGER_H_
#define SPILLWAY_TUNER_POLICIES_PLAY_GPU_MANAGER_H_

#include "tuner/policies/gpu_memory_manager.h"
#include "tuner/policies/played_policy.h"

namespace spillway {

// Deterministic. Cost: O(slots + evictions * storages).
PlayedPolicy PlayGpuManager(const RuntimeStep& step, EvictionPolicy policy,
                            double util_factor = 0.9);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_PLAY_GPU_MANAGER_H_
