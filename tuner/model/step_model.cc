#include "tuner/model/step_model.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/units.h"
#include "executor/plan/match_in_place.h"
#include "graph/storage.h"

namespace spillway {
namespace {

// A use of a buffer by a step.
struct Access {
  int32_t buffer = 0;
  int32_t step = 0;
  bool writes = false;
  bool is_kernel = false;
};

// One or several storages, each in the bytes that it took over from the one
// before it.
struct ModelledBuffer {
  int64_t bytes = 0;
  bool on_device = true;
  bool is_fetched = false;
};

// Items of `items` by key, each key's items in their order.
template <typename T>
class ByKey {
 public:
  template <typename KeyFn>
  ByKey(std::span<const T> items, size_t keys, KeyFn key_of)
      : begin_(keys + 1, 0), items_(items.size()) {
    for (const T& item : items) ++begin_[key_of(item) + 1];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    std::vector<size_t> next(begin_.begin(), begin_.end() - 1);
    for (const T& item : items) items_[next[key_of(item)]++] = item;
  }

  std::span<const T> operator[](size_t key) const {
    return std::span(items_).subspan(begin_[key],
                                     begin_[key + 1] - begin_[key]);
  }

  // All of them, by key.
  std::vector<T> items() && { return std::move(items_); }

 private:
  std::vector<size_t> begin_;
  std::vector<T> items_;
};

// How much longer kernels take that run beside a copy of `bytes` that takes
// `copy_ns`: at 1 / (1 + bytes / copy_ns * kernel_ns_per_copied_byte) of their
// speed, as in the simulator.
int64_t SlowsNs(const DeviceProfile& profile, int64_t bytes, int64_t copy_ns) {
  const double slows_ns =
      profile.kernel_ns_per_copied_byte * static_cast<double>(bytes);
  if (slows_ns == 0) return 0;
  const auto ns = static_cast<double>(copy_ns);
  return static_cast<int64_t>(slows_ns * ns / (slows_ns + ns));
}

class Modeller {
 public:
  Modeller(const StepList& list, const DeviceProfile& profile)
      : list_(list),
        profile_(profile),
        last_use_(list.storages.size(), -1),
        made_(list.storages.size(), -1),
        buffer_of_(list.storages.size(), -1),
        copy_of_(list.storages.size(), -1) {
    model_.steps.reserve(list.steps.size());
    accesses_.reserve(list.slots.size());
  }

  StepModel Run() {
    FindLastUses();
    for (size_t k = 0; k < list_.steps.size(); ++k) {
      AddStep(static_cast<int32_t>(k));
    }
    const ByKey<Access> accesses(accesses_, buffers_.size(),
                                 [](const Access& access) {
                                   return static_cast<size_t>(access.buffer);
                                 });
    FindFirstReaders(accesses);
    CountLiveBytes(accesses);
    AddGaps(accesses);
    return std::move(model_);
  }

 private:
  const ListedStorage& storage(StorageIndex index) const {
    return list_.storages[static_cast<size_t>(index)];
  }
  int32_t buffer_of(StorageIndex index) const {
    return buffer_of_[static_cast<size_t>(index)];
  }

  void FindLastUses() {
    for (size_t k = 0; k < list_.steps.size(); ++k) {
      for (const Slot& slot : list_.inputs(list_.steps[k])) {
        if (slot.storage == kNoStorage) continue;
        last_use_[static_cast<size_t>(slot.storage)] = static_cast<int32_t>(k);
      }
    }
  }

  void AddStep(int32_t k) {
    const ListedStep& step = list_.steps[static_cast<size_t>(k)];
    ModelStep& added = model_.steps.emplace_back();
    added.node = step.node;
    added.kind = step.kind;
    if (step.kind == StepKind::kFeed) {
      added.ns = CopyNs(profile_.to_device,
                        storage(list_.outputs(step)[0].storage).bytes);
    } else {
      added.ns = step.kernel_ns;
      model_.kernels_ns += added.ns;
    }
    AssignBuffers(k, step, added);
    AddAccesses(k, step);
  }

  // As executor/plan/assign_buffers.h.
  void AssignBuffers(int32_t k, const ListedStep& step, ModelStep& added) {
    const std::vector<int> overwritten = OverwrittenInputs(k, step);
    added.in_place_bytes = step.in_place->most_bytes;
    const std::span<const Slot> outputs = list_.outputs(step);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const StorageIndex made = outputs[i].storage;
      if (made == kNoStorage || storage(made).root != outputs[i].value) {
        continue;  // a resident or an alias
      }
      made_[static_cast<size_t>(made)] = k;
      int32_t& buffer = buffer_of_[static_cast<size_t>(made)];
      if (!overwritten.empty() && overwritten[i] >= 0) {
        const auto input = static_cast<size_t>(overwritten[i]);
        buffer = buffer_of(list_.inputs(step)[input].storage);
        added.in_place_bytes -= AlignUp(storage(made).bytes, kBufferAlignment);
      } else {
        buffer = static_cast<int32_t>(buffers_.size());
        buffers_.push_back({.bytes = storage(made).bytes,
                            .on_device = storage(made).on_device});
      }
      buffers_[static_cast<size_t>(buffer)].is_fetched |=
          storage(made).is_fetched;
    }
  }

  // By output: the input that it overwrites, or -1. May be empty.
  std::vector<int> OverwrittenInputs(int32_t k, const ListedStep& step) const {
    const InPlaceRule& rule = *step.in_place;
    const auto dies = [&](const BufferPair& pair) {
      const StorageIndex input =
          list_.inputs(step)[static_cast<size_t>(pair.input)].storage;
      return !storage(input).is_fetched &&
             last_use_[static_cast<size_t>(input)] == k;
    };
    std::vector<BufferPair> pairs;
    for (const BufferPair& pair : rule.pairs) {
      if (dies(pair)) pairs.push_back(pair);
    }
    if (pairs.empty()) return {};
    return MatchInPlace(pairs, rule.output_bytes, rule.together);
  }

  void AddAccesses(int32_t k, const ListedStep& step) {
    const size_t first = accesses_.size();
    const auto add = [&](StorageIndex index, bool writes) {
      if (index == kNoStorage) return;
      const int32_t buffer = buffer_of(index);
      for (size_t i = first; i < accesses_.size(); ++i) {
        if (accesses_[i].buffer != buffer) continue;
        accesses_[i].writes |= writes;
        return;
      }
      accesses_.push_back({.buffer = buffer,
                           .step = k,
                           .writes = writes,
                           .is_kernel = step.kind == StepKind::kCompute});
    };
    for (const Slot& slot : list_.inputs(step)) add(slot.storage, false);
    for (const Slot& slot : list_.outputs(step)) {
      add(slot.storage, step.kind != StepKind::kAlias);
    }
  }

  void FindFirstReaders(const ByKey<Access>& accesses) {
    for (size_t k = 0; k < model_.steps.size(); ++k) {
      const ListedStep& step = list_.steps[k];
      if (step.kind != StepKind::kFeed) continue;
      const std::span<const Access> of_feed = accesses[static_cast<size_t>(
          buffer_of(list_.outputs(step)[0].storage))];
      const auto first = std::ranges::find_if(of_feed, &Access::is_kernel);
      if (first != of_feed.end()) model_.steps[k].first_kernel = first->step;
    }
  }

  void CountLiveBytes(const ByKey<Access>& accesses) {
    std::vector<int64_t> change(list_.steps.size() + 1, 0);
    for (size_t i = 0; i < buffers_.size(); ++i) {
      const ModelledBuffer& buffer = buffers_[i];
      if (!buffer.on_device) continue;
      const int64_t bytes = AlignUp(buffer.bytes, kBufferAlignment);
      const auto end = buffer.is_fetched
                           ? list_.steps.size()
                           : static_cast<size_t>(accesses[i].back().step) + 1;
      change[static_cast<size_t>(accesses[i].front().step)] += bytes;
      change[end] -= bytes;
    }
    int64_t live = list_.resident_bytes;
    model_.peak_bytes = live;
    for (size_t k = 0; k < list_.steps.size(); ++k) {
      live += change[k];
      model_.steps[k].live_bytes =
          live + AlignUp(list_.steps[k].workspace_bytes, kBufferAlignment);
      model_.peak_bytes =
          std::max(model_.peak_bytes, model_.steps[k].live_bytes);
    }
  }

  void AddGaps(const ByKey<Access>& accesses) {
    std::vector<StorageIndex> indices(list_.storages.size());
    std::iota(indices.begin(), indices.end(), 0);
    const ByKey<StorageIndex> storages(
        indices, buffers_.size(), [&](StorageIndex index) {
          return static_cast<size_t>(buffer_of(index));
        });
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (!buffers_[i].on_device || buffers_[i].is_fetched) continue;
      AddGapsOf(buffers_[i], accesses[i], storages[i]);
    }
    ByKey<Gap> by_last(gaps_, list_.steps.size(), [](const Gap& gap) {
      return static_cast<size_t>(gap.last);
    });
    model_.gaps = std::move(by_last).items();
  }

  void AddGapsOf(const ModelledBuffer& buffer, std::span<const Access> accesses,
                 std::span<const StorageIndex> storages) {
    int32_t written = -1;
    const size_t first = gaps_.size();
    for (size_t i = 0; i + 1 < accesses.size(); ++i) {
      if (accesses[i].writes) written = accesses[i].step;
      const int32_t last = accesses[i].step;
      const int32_t next = accesses[i + 1].step;
      if (next - last < 2) continue;
      const StorageIndex read = ReadAfter(storages, last);
      const bool is_movable = read != kNoStorage && storage(read).can_be_copied;
      const int64_t in_ns = CopyNs(profile_.to_device, buffer.bytes);
      gaps_.push_back(
          {.storage = read,
           .copy_out =
               CopyOutOf(buffer, is_movable ? read : kNoStorage, written),
           .last = last,
           .next = next,
           .aligned_bytes = AlignUp(buffer.bytes, kBufferAlignment),
           .copy_in_ns = in_ns,
           .shared_in_ns = SharedCopyNs(profile_.to_device, buffer.bytes),
           .in_slows_ns = SlowsNs(profile_, buffer.bytes, in_ns),
           .is_movable = is_movable});
    }
    FindKernels(accesses, std::span(gaps_).subspan(first));
  }

  // Sets Gap::kernel of gaps of one buffer.
  void FindKernels(std::span<const Access> accesses, std::span<Gap> gaps) {
    auto kernel = static_cast<int32_t>(list_.steps.size());
    size_t i = accesses.size();
    for (size_t g = gaps.size(); g-- > 0;) {
      while (i > 0 && accesses[i - 1].step >= gaps[g].next) {
        --i;
        if (accesses[i].is_kernel) kernel = accesses[i].step;
      }
      gaps[g].kernel = kernel;
    }
  }

  // The one storage that exists at `last` already and is read later;
  // kNoStorage: there are several.
  StorageIndex ReadAfter(std::span<const StorageIndex> storages,
                         int32_t last) const {
    StorageIndex found = kNoStorage;
    for (const StorageIndex index : storages) {
      const auto at = static_cast<size_t>(index);
      if (made_[at] > last || last_use_[at] <= last) continue;
      if (found != kNoStorage) return kNoStorage;
      found = index;
    }
    return found;
  }

  // `read`: kNoStorage if the gap is not movable.
  int32_t CopyOutOf(const ModelledBuffer& buffer, StorageIndex read,
                    int32_t written) {
    const bool is_known = read != kNoStorage;
    if (is_known && copy_of_[static_cast<size_t>(read)] >= 0) {
      return copy_of_[static_cast<size_t>(read)];
    }
    const auto added = static_cast<int32_t>(model_.copies.size());
    const bool is_feed =
        model_.steps[static_cast<size_t>(written)].kind == StepKind::kFeed;
    CopyOut& copy = model_.copies.emplace_back();
    copy = {.value = is_known ? storage(read).root : ValueId(),
            .written = written,
            .bytes = buffer.bytes,
            .is_feed = is_feed};
    if (!is_feed) {
      copy.ns = CopyNs(profile_.to_host, buffer.bytes);
      copy.shared_ns = SharedCopyNs(profile_.to_host, buffer.bytes);
      copy.slows_ns = SlowsNs(profile_, buffer.bytes, copy.ns);
    }
    if (is_known) copy_of_[static_cast<size_t>(read)] = added;
    return added;
  }

  const StepList& list_;
  const DeviceProfile& profile_;
  // By storage: the last step that reads it (-1: none), the step that makes it,
  // its buffer, its copy to the host (-1: none yet).
  std::vector<int32_t> last_use_, made_, buffer_of_, copy_of_;
  std::vector<ModelledBuffer> buffers_;
  std::vector<Access> accesses_;  // by step
  std::vector<Gap> gaps_;         // by buffer
  StepModel model_;
};

}  // namespace

StepModel MakeStepModel(const StepList& list, const DeviceProfile& profile) {
  return Modeller(list, profile).Run();
}

StepModel MakeStepModel(const Graph& graph, const OpRegistry& ops,
                        const Schedule& schedule, const CompileOptions& options,
                        const IdMap<NodeId, int64_t>& kernel_ns,
                        const DeviceProfile& profile) {
  const StorageMap storages = StorageMap::Of(graph, ops);
  const InPlaceRules rules = FindInPlaceRules(graph, ops, storages);
  return MakeStepModel(
      ListOf(graph, ops, storages, schedule, options, kernel_ns, rules),
      profile);
}

}  // namespace spillway
