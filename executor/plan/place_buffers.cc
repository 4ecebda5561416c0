#include "executor/plan/place_buffers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "executor/memory/static_packing.h"

namespace spillway {
namespace {

// The buffers of one space as items of the packer.
struct Items {
  std::vector<PackingItem> items = {};
  std::vector<BufferId> buffers = {};  // by item
};

Items ItemsOf(const ExecutionPlan& plan, Space space,
              const Lifetimes& lifetimes) {
  Items result;
  for (const BufferId id : plan.buffers.ids()) {
    const Buffer& buffer = plan.buffers[id];
    if (buffer.space != space || lifetimes.of[id].empty()) continue;
    result.items.push_back(
        {.lifetime = lifetimes.of[id], .bytes = buffer.bytes});
    result.buffers.push_back(id);
  }
  return result;
}

class Placer {
 public:
  Placer(Space space, Lifetimes& lifetimes, ExecutionPlan& plan)
      : space_(space),
        base_(ResidentBytes(plan, space)),
        lifetimes_(lifetimes),
        plan_(plan) {}

  void Run(std::optional<int64_t> budget_bytes) {
    const Lifetimes soonest = lifetimes_;
    items_ = ItemsOf(plan_, space_, soonest);
    Packing best = PackBuffers(items_.items, {.alignment = kBufferAlignment});
    const int64_t lower_bound = best.lower_bound_bytes;
    const int64_t limit =
        std::max(best.height_bytes, budget_bytes.value_or(0) - base_);
    if (HasDelayableEnds() && !PlaceDelayed(lower_bound, limit, best)) {
      lifetimes_ = soonest;
    }
    Finish(best, lower_bound);
  }

 private:
  bool HasDelayableEnds() const {
    return std::ranges::any_of(
        lifetimes_.delayable, [&](const DelayableEnd& end) {
          return plan_.buffers[end.buffer].space == space_;
        });
  }

  // Packs with ends delayed as far as `limit` seems to allow; if fragmentation
  // exceeds the limit, tries again with a lower target. False if that does not
  // help.
  bool PlaceDelayed(int64_t lower_bound, int64_t limit, Packing& best) {
    constexpr int kAttempts = 6;
    int64_t target = limit;
    for (int attempt = 0; attempt < kAttempts && target >= lower_bound;
         ++attempt) {
      DelayEnds(plan_, space_, target, lifetimes_);
      for (size_t i = 0; i < items_.items.size(); ++i) {
        items_.items[i].lifetime = lifetimes_.of[items_.buffers[i]];
      }
      Packing packing =
          PackBuffers(items_.items, {.alignment = kBufferAlignment,
                                     .target_bytes = limit,
                                     .search_effort = kDelayedSearchEffort});
      if (packing.height_bytes <= limit) {
        best = std::move(packing);
        return true;
      }
      target -= packing.height_bytes - limit;
    }
    return false;
  }

  void Finish(const Packing& packing, int64_t lower_bound) {
    for (size_t i = 0; i < items_.buffers.size(); ++i) {
      Buffer& buffer = plan_.buffers[items_.buffers[i]];
      buffer.offset = base_ + packing.offsets[i];
      buffer.live = lifetimes_.of[items_.buffers[i]];
    }
    const int64_t bytes = base_ + packing.height_bytes;
    if (space_ == Space::kDevice) {
      plan_.device_bytes = bytes;
      plan_.device_lower_bound_bytes = base_ + lower_bound;
    } else {
      plan_.host_bytes = bytes;
      plan_.host_lower_bound_bytes = base_ + lower_bound;
    }
  }

  // A failed attempt is repeated with more room, so searching is not worth it.
  static constexpr int64_t kDelayedSearchEffort = 0;

  const Space space_;
  const int64_t base_;  // below the offsets of all buffers to place
  Lifetimes& lifetimes_;
  ExecutionPlan& plan_;
  Items items_;
};

}  // namespace

int64_t LiveBytesBound(const ExecutionPlan& plan, Space space,
                       const Lifetimes& lifetimes) {
  return ResidentBytes(plan, space) +
         LiveBytesLowerBound(ItemsOf(plan, space, lifetimes).items,
                             kBufferAlignment);
}

void PlaceBuffers(Space space, std::optional<int64_t> budget_bytes,
                  Lifetimes& lifetimes, ExecutionPlan& plan) {
  Placer(space, lifetimes, plan).Run(budget_bytes);
}

}  // namespace spillway
