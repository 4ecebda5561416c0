#include "tuner/policies/play_gpu_manager.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/plan/plan.h"
#include "simulator/link_direction.h"

namespace spillway {
namespace {

class ManagerPlayer {
 public:
  ManagerPlayer(const RuntimeStep& step, EvictionPolicy policy,
                double util_factor)
      : step_(step),
        manager_({.policy = policy,
                  .device_bytes = step.budget_bytes,
                  .non_tensor_bytes = step.list.resident_bytes,
                  .util_factor = util_factor}),
        uses_(KernelUsesOf(step.list)) {
    const std::vector<char> is_fed = FedStorages(step.list);
    for (size_t s = 0; s < step.list.storages.size(); ++s) {
      manager_.AddObject(Aligned(step.list.storages[s].bytes), is_fed[s] != 0);
    }
    FindNextUses();
  }

  PlayedPolicy Run() {
    for (const KernelUse& use : uses_) {
      const absl::Status status = Play(use);
      if (!status.ok()) return {.reason = std::string(status.message())};
    }
    PlayedPolicy played = {
        .fits = true,
        .step_ns = SerialKernelsNs(step_),
        .device_bytes = step_.list.resident_bytes + manager_.peak_bytes(),
        .evictions = manager_.evictions()};
    for (Eviction& eviction : played.evictions) {
      if (!eviction.is_copied) continue;
      played.to_host_bytes += eviction.bytes;
      played.step_ns += CopyNs(step_.profile.to_host, eviction.bytes);
    }
    for (const int64_t bytes : manager_.loaded_bytes()) {
      played.to_device_bytes += bytes;
      played.step_ns += CopyNs(step_.profile.to_device, bytes);
    }
    return played;
  }

 private:
  static int64_t Aligned(int64_t bytes) {
    return std::max<int64_t>(kBufferAlignment,
                             AlignUp(bytes, kBufferAlignment));
  }

  // By storage, the kernels that use it, the last one first.
  void FindNextUses() {
    kernels_.resize(step_.list.storages.size());
    for (size_t i = uses_.size(); i-- > 0;) {
      const auto add = [&](StorageIndex s) {
        kernels_[static_cast<size_t>(s)].push_back(uses_[i].step);
      };
      std::ranges::for_each(uses_[i].reads, add);
      std::ranges::for_each(uses_[i].writes, add);
    }
  }

  absl::Status Play(const KernelUse& use) {
    for (const StorageIndex s : use.reads) {
      SPILLWAY_RETURN_IF_ERROR(manager_.LockToRead(s));
    }
    for (const StorageIndex s : use.writes) {
      SPILLWAY_RETURN_IF_ERROR(manager_.LockToWrite(s));
    }
    if (use.workspace_bytes > 0) {
      const int32_t workspace =
          manager_.AddObject(Aligned(use.workspace_bytes), false);
      SPILLWAY_RETURN_IF_ERROR(manager_.LockToWrite(workspace));
      SPILLWAY_RETURN_IF_ERROR(manager_.Release(workspace));
      manager_.Free(workspace);
    }
    for (const StorageIndex s : use.reads) {
      SPILLWAY_RETURN_IF_ERROR(Release(s));
    }
    for (const StorageIndex s : use.writes) {
      SPILLWAY_RETURN_IF_ERROR(Release(s));
    }
    for (const StorageIndex s : use.deaths) manager_.Free(s);
    return absl::OkStatus();
  }

  absl::Status Release(StorageIndex s) {
    std::vector<int32_t>& kernels = kernels_[static_cast<size_t>(s)];
    kernels.pop_back();
    manager_.SetNextUse(
        s, kernels.empty() ? GpuMemoryManager::kNeverUsed : kernels.back());
    return manager_.Release(s);
  }

  const RuntimeStep& step_;
  GpuMemoryManager manager_;
  const std::vector<KernelUse> uses_;
  std::vector<std::vector<int32_t>> kernels_;
};

}  // namespace

PlayedPolicy PlayGpuManager(const RuntimeStep& step, EvictionPolicy policy,
                            double util_factor) {
  return ManagerPlayer(step, policy, util_factor).Run();
}

}  // namespace spillway
