#include "tuner/policies/dtr.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"

namespace spillway {
namespace {

constexpr int kDeepestChain = 1000;

class Dtr {
 public:
  Dtr(const RecomputeSpace& space, int64_t budget_bytes)
      : space_(space),
        free_bytes_(budget_bytes - space.list.resident_bytes),
        tensors_(space.list.storages.size()),
        fates_(KeepAll(space)) {
    FindNeighbours();
  }

  std::optional<Fates> Run() {
    for (size_t k = 0; k < space_.list.steps.size(); ++k) {
      if (!RunStep(k)) return std::nullopt;
    }
    return std::move(fates_);
  }

 private:
  struct Tensor {
    int64_t aligned_bytes = 0;  // 0: not on the device
    int64_t remake_ns = 0;
    int64_t used_ns = 0;      // the time of its last use
    int32_t gap = -1;         // in which the step is; -1: none
    int32_t locks = 0;        // by steps and clones that use it now
    bool can_remake = false;  // at any time
    bool is_here = false;
    bool is_evicted = false;
    bool was_remade = false;                 // within its gap
    bool is_dead = false;                    // no step uses it any more
    std::vector<StorageIndex> sources = {};  // what its clone reads
    std::vector<StorageIndex> users = {};    // whose clones read it
  };

  Tensor& tensor(StorageIndex index) {
    return tensors_[static_cast<size_t>(index)];
  }

  void FindNeighbours() {
    for (size_t s = 0; s < tensors_.size(); ++s) {
      const ListedStorage& storage = space_.list.storages[s];
      Tensor& made = tensors_[s];
      if (storage.on_device) {
        made.aligned_bytes = AlignUp(storage.bytes, kBufferAlignment);
      }
      const int32_t remake = space_.remake_of[storage.root];
      if (remake == kNoRemake) continue;
      const Remake& by = space_.remakes[static_cast<size_t>(remake)];
      made.can_remake = true;
      made.remake_ns = by.kernel_ns;
      for (const Slot& input : by.inputs) {
        if (input.storage == kNoStorage) continue;
        made.sources.push_back(input.storage);
        tensor(input.storage).users.push_back(static_cast<StorageIndex>(s));
      }
    }
  }

  bool RunStep(size_t k) {
    const ListedStep& step = space_.list.steps[k];
    std::vector<StorageIndex> used;
    for (const Slot& slot : space_.list.inputs(step)) {
      if (slot.storage == kNoStorage) continue;
      if (!Bring(slot.storage, 0)) return false;
      tensor(slot.storage).locks += 1;
      used.push_back(slot.storage);
    }
    for (const Slot& slot : space_.list.outputs(step)) {
      if (slot.storage == kNoStorage) continue;
      if (!tensor(slot.storage).is_here && !Allocate(slot.storage)) {
        return false;
      }
      tensor(slot.storage).locks += 1;
      used.push_back(slot.storage);
    }
    if (!MakeRoom(AlignUp(step.workspace_bytes, kBufferAlignment))) {
      return false;
    }
    now_ns_ += step.kernel_ns;
    for (const StorageIndex index : used) {
      Tensor& of = tensor(index);
      of.locks -= 1;
      of.used_ns = now_ns_;
      of.gap = -1;
      of.was_remade = false;
    }
    EndStep(static_cast<int32_t>(k));
    return true;
  }

  // Begins gaps, and frees what is dead.
  void EndStep(int32_t k) {
    const std::vector<Gap>& gaps = space_.model.gaps;
    for (; next_gap_ < gaps.size() && gaps[next_gap_].last <= k; ++next_gap_) {
      if (gaps[next_gap_].storage == kNoStorage) continue;
      tensor(gaps[next_gap_].storage).gap = static_cast<int32_t>(next_gap_);
    }
    for (; next_end_ < space_.by_last_use.size(); ++next_end_) {
      const StorageIndex index = space_.by_last_use[next_end_];
      if (space_.last_use[static_cast<size_t>(index)] > k) break;
      tensor(index).is_dead = true;
      Free(index);
    }
    for (const StorageIndex index : remade_dead_) Free(index);
    remade_dead_.clear();
  }

  // Makes the tensor again if it is not on the device.
  bool Bring(StorageIndex index, int depth) {
    Tensor& of = tensor(index);
    if (of.is_here) return true;
    if (!of.can_remake) return of.is_dead;
    if (depth == kDeepestChain) return false;
    std::vector<StorageIndex> locked;
    bool is_made = true;
    for (const StorageIndex source : of.sources) {
      is_made = Bring(source, depth + 1);
      if (!is_made) break;
      tensor(source).locks += 1;
      locked.push_back(source);
    }
    is_made = is_made && Allocate(index);
    now_ns_ += of.remake_ns;
    for (const StorageIndex source : locked) {
      tensor(source).locks -= 1;
      tensor(source).used_ns = now_ns_;
    }
    of.used_ns = now_ns_;
    of.was_remade = true;
    if (of.is_dead) remade_dead_.push_back(index);
    return is_made;
  }

  bool Allocate(StorageIndex index) {
    Tensor& of = tensor(index);
    if (!MakeRoom(of.aligned_bytes)) return false;
    free_bytes_ -= of.aligned_bytes;
    of.is_here = true;
    of.is_evicted = false;
    return true;
  }

  void Free(StorageIndex index) {
    Tensor& of = tensor(index);
    if (of.is_here) free_bytes_ += of.aligned_bytes;
    of.is_here = false;
  }

  bool MakeRoom(int64_t bytes) {
    while (free_bytes_ < bytes) {
      const StorageIndex victim = LeastH();
      if (victim == kNoStorage) return false;
      Evict(victim);
    }
    return true;
  }

  void Evict(StorageIndex index) {
    Tensor& of = tensor(index);
    Free(index);
    of.is_evicted = true;
    const auto gap = static_cast<size_t>(of.gap);
    fates_.of_gap[gap] = Fate::kRecomputed;
    if (of.was_remade) fates_.released[gap] = kReleaseAll;
  }

  StorageIndex LeastH() {
    StorageIndex best = kNoStorage;
    double least = 0;
    for (size_t s = 0; s < tensors_.size(); ++s) {
      const Tensor& of = tensors_[s];
      if (!of.is_here || of.locks > 0 || of.gap < 0 || of.aligned_bytes == 0 ||
          space_.can_recompute[static_cast<size_t>(of.gap)] == 0) {
        continue;
      }
      const auto index = static_cast<StorageIndex>(s);
      const auto stale =
          static_cast<double>(std::max<int64_t>(1, now_ns_ - of.used_ns));
      const double h = static_cast<double>(CostNs(index)) /
                       (static_cast<double>(of.aligned_bytes) * stale);
      if (best == kNoStorage || h < least) {
        best = index;
        least = h;
      }
    }
    return best;
  }

  int64_t CostNs(StorageIndex index) {
    ++visit_;
    visited_.resize(tensors_.size(), 0);
    visited_[static_cast<size_t>(index)] = visit_;
    return tensor(index).remake_ns + Evicted(index, &Tensor::sources) +
           Evicted(index, &Tensor::users);
  }

  // The time of the evicted tensors that are reached through evicted ones.
  int64_t Evicted(StorageIndex from,
                  std::vector<StorageIndex> Tensor::*neighbours) {
    int64_t ns = 0;
    std::vector<StorageIndex> open = {from};
    while (!open.empty()) {
      const Tensor& at = tensor(open.back());
      open.pop_back();
      for (const StorageIndex next : at.*neighbours) {
        if (visited_[static_cast<size_t>(next)] == visit_) continue;
        const Tensor& of = tensor(next);
        if (of.is_here || !of.can_remake || !(of.is_evicted || of.is_dead)) {
          continue;
        }
        visited_[static_cast<size_t>(next)] = visit_;
        ns += of.remake_ns;
        open.push_back(next);
      }
    }
    return ns;
  }

  const RecomputeSpace& space_;
  int64_t free_bytes_;
  std::vector<Tensor> tensors_;  // by storage
  Fates fates_;
  int64_t now_ns_ = 0;
  size_t next_gap_ = 0;
  size_t next_end_ = 0;
  std::vector<StorageIndex> remade_dead_;  // freed after the step
  int64_t visit_ = 0;
  std::vector<int64_t> visited_;  // by storage: the last visit
};

}  // namespace

std::optional<Fates> DtrFates(const RecomputeSpace& space,
                              int64_t budget_bytes) {
  return Dtr(space, budget_bytes).Run();
}

}  // namespace spillway
