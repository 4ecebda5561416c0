#include "tuner/policies/played_policy.h"

#include <algorithm>
#include <span>

namespace spillway {
namespace {

void SortUnique(std::vector<StorageIndex>& storages) {
  std::ranges::sort(storages);
  storages.erase(std::unique(storages.begin(), storages.end()), storages.end());
}

// Adds the device storages of the slots.
void AddStorages(const StepList& list, std::span<const Slot> slots,
                 std::vector<StorageIndex>& storages) {
  for (const Slot& slot : slots) {
    if (slot.storage == kNoStorage) continue;
    if (!list.storages[static_cast<size_t>(slot.storage)].on_device) continue;
    storages.push_back(slot.storage);
  }
  SortUnique(storages);
}

// By storage: the last step that uses it; -1: none.
std::vector<int32_t> LastUses(const StepList& list) {
  std::vector<int32_t> last(list.storages.size(), -1);
  for (size_t k = 0; k < list.steps.size(); ++k) {
    std::vector<StorageIndex> used;
    AddStorages(list, list.inputs(list.steps[k]), used);
    AddStorages(list, list.outputs(list.steps[k]), used);
    for (const StorageIndex s : used) {
      last[static_cast<size_t>(s)] = static_cast<int32_t>(k);
    }
  }
  return last;
}

}  // namespace

std::vector<KernelUse> KernelUsesOf(const StepList& list) {
  std::vector<std::vector<StorageIndex>> dying(list.steps.size());
  const std::vector<int32_t> last = LastUses(list);
  for (size_t s = 0; s < last.size(); ++s) {
    if (last[s] < 0 || list.storages[s].is_fetched) continue;
    dying[static_cast<size_t>(last[s])].push_back(static_cast<StorageIndex>(s));
  }
  std::vector<KernelUse> uses;
  std::vector<StorageIndex> dead;
  for (size_t k = 0; k < list.steps.size(); ++k) {
    const ListedStep& step = list.steps[k];
    dead.insert(dead.end(), dying[k].begin(), dying[k].end());
    if (step.kind != StepKind::kCompute) continue;
    KernelUse use = {.step = static_cast<int32_t>(k),
                     .workspace_bytes = step.workspace_bytes};
    AddStorages(list, list.inputs(step), use.reads);
    AddStorages(list, list.outputs(step), use.writes);
    std::erase_if(use.reads, [&](StorageIndex s) {
      return std::ranges::binary_search(use.writes, s);
    });
    use.deaths = std::move(dead);
    dead.clear();
    SortUnique(use.deaths);
    uses.push_back(std::move(use));
  }
  return uses;
}

std::vector<char> FedStorages(const StepList& list) {
  std::vector<char> is_fed(list.storages.size(), 0);
  for (const ListedStep& step : list.steps) {
    if (step.kind != StepKind::kFeed) continue;
    for (const Slot& slot : list.outputs(step)) {
      if (slot.storage != kNoStorage) {
        is_fed[static_cast<size_t>(slot.storage)] = 1;
      }
    }
  }
  return is_fed;
}

int64_t SerialKernelsNs(const RuntimeStep& step) {
  int64_t issued_ns = 0;
  int64_t now_ns = 0;
  for (const ListedStep& listed : step.list.steps) {
    if (listed.kind != StepKind::kCompute) continue;
    issued_ns += step.profile.issue_ns;
    now_ns = std::max(now_ns, issued_ns) + listed.kernel_ns;
  }
  return now_ns + step.profile.call_ns;
}

}  // namespace spillway
