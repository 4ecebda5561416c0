#include "tuner/model/materialize.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace spillway {
namespace {

constexpr int kLongestChain = 1000;

class Materializer {
 public:
  Materializer(const RecomputeSpace& space, const Fates& fates)
      : space_(space),
        fates_(fates),
        storage_of_(space.list.storages.size(), kNoStorage),
        gap_of_(space.list.storages.size(), -1),
        is_over_(space.list.storages.size(), 0),
        clones_in_gap_(space.list.storages.size(), 0),
        name_of_(space.graph.num_values()),
        next_value_(space.graph.num_values()) {
    made_.list.resident_bytes = space.list.resident_bytes;
    made_.list.steps.reserve(space.list.steps.size() + 64);
    made_.list.slots.reserve(space.list.slots.size() + 256);
    made_.list.storages.reserve(space.list.storages.size() + 64);
    made_.base_step.reserve(space.list.steps.size() + 64);
    made_.base_storage.reserve(space.list.storages.size() + 64);
  }

  std::optional<Materialized> Run() {
    for (size_t k = 0; k < space_.list.steps.size() && !has_failed_; ++k) {
      AddStep(static_cast<int32_t>(k));
    }
    if (has_failed_) return std::nullopt;
    return std::move(made_);
  }

 private:
  using Slots = absl::InlinedVector<Slot, 8>;

  // A value of the original step, as it is called now.
  struct Name {
    ValueId value = {};
    StorageIndex storage = kNoStorage;  // in the list
  };

  StorageIndex& storage_of(StorageIndex base) {
    return storage_of_[static_cast<size_t>(base)];
  }
  int32_t& gap_of(StorageIndex base) {
    return gap_of_[static_cast<size_t>(base)];
  }
  int32_t& clones_in_gap(StorageIndex base) {
    return clones_in_gap_[static_cast<size_t>(base)];
  }
  char& is_over(StorageIndex base) {
    return is_over_[static_cast<size_t>(base)];
  }

  void AddStep(int32_t k) {
    now_ = k;
    const ListedStep& base = space_.list.steps[static_cast<size_t>(k)];
    const std::span<const Slot> inputs = space_.list.inputs(base);
    Slots read;
    for (const Slot& slot : inputs) read.push_back(Need(slot, 0));
    if (has_failed_) return;
    for (const Slot& slot : inputs) {
      if (slot.storage != kNoStorage) gap_of(slot.storage) = -1;
    }
    Append(base, read, space_.list.outputs(base), /*clone=*/false);
    ReleaseSources();
    BeginGaps();
  }

  // Where the step reads the slot: runs clones if the storage is nowhere, or if
  // it lost the slot's name.
  Slot Need(const Slot& slot, int depth) {
    if (slot.storage == kNoStorage || has_failed_) return slot;
    if (is_over(slot.storage) != 0 && CanMakeAgain(slot.storage)) {
      storage_of(slot.storage) = kNoStorage;
      is_over(slot.storage) = 0;
    }
    const StorageIndex here = storage_of(slot.storage);
    if (here == kNoStorage || name_of_[slot.value].storage != here) {
      MakeAgain(slot, depth);
      if (has_failed_) return slot;
    }
    const Name& name = name_of_[slot.value];
    return {.value = name.value, .storage = name.storage};
  }

  bool CanMakeAgain(StorageIndex base) const {
    const ValueId root = space_.list.storages[static_cast<size_t>(base)].root;
    const int32_t index = space_.remake_of[root];
    return index != kNoRemake &&
           space_.remakes[static_cast<size_t>(index)].IsLegalBefore(now_);
  }

  void MakeAgain(const Slot& slot, int depth) {
    const int32_t index = space_.remake_of[slot.value];
    if (index == kNoRemake || depth == kLongestChain) {
      has_failed_ = true;
      return;
    }
    const Remake& remake = space_.remakes[static_cast<size_t>(index)];
    if (!remake.IsLegalBefore(now_)) {
      has_failed_ = true;
      return;
    }
    Slots read;
    for (const Slot& input : remake.inputs) {
      read.push_back(Need(input, depth + 1));
    }
    if (has_failed_) return;
    Append({.node = NodeId(space_.graph.num_nodes() + made_.clones.size()),
            .kind = remake.kind,
            .kernel_ns = remake.kernel_ns,
            .workspace_bytes = remake.workspace_bytes,
            .in_place = &remake.in_place},
           read, remake.outputs, /*clone=*/true);
    made_.clones.push_back(index);
    made_.recompute_ns += remake.kernel_ns;
  }

  // `outputs`: slots of the original step.
  void Append(ListedStep step, std::span<const Slot> inputs,
              std::span<const Slot> outputs, bool clone) {
    StepList& list = made_.list;
    step.first_slot = static_cast<int32_t>(list.slots.size());
    step.num_inputs = static_cast<int32_t>(inputs.size());
    step.num_outputs = static_cast<int32_t>(outputs.size());
    list.slots.insert(list.slots.end(), inputs.begin(), inputs.end());
    for (const Slot& output : outputs) {
      list.slots.push_back(Output(step, inputs, output, clone));
    }
    list.steps.push_back(step);
    made_.base_step.push_back(now_);
  }

  Slot Output(const ListedStep& step, std::span<const Slot> inputs,
              const Slot& output, bool clone) {
    Name name = {.value = clone ? ValueId(next_value_++) : output.value};
    if (output.storage == kNoStorage) return {.value = name.value};
    const ListedStorage& base =
        space_.list.storages[static_cast<size_t>(output.storage)];
    if (step.kind == StepKind::kAlias) {
      name.storage = inputs[0].storage;
    } else if (base.root != output.value) {
      name.storage = storage_of(output.storage);  // an update in place
    } else {
      name.storage = AddStorage(output.storage, name.value, clone);
      // A clone makes all outputs of its node; those that are still there stay.
      if (clone && storage_of(output.storage) != kNoStorage) {
        return {.value = name.value, .storage = name.storage};
      }
      storage_of(output.storage) = name.storage;
      if (clone) {
        if (IsReleased(output.storage)) to_release_.push_back(output.storage);
        ++clones_in_gap(output.storage);
      }
    }
    name_of_[output.value] = name;
    return {.value = name.value, .storage = name.storage};
  }

  StorageIndex AddStorage(StorageIndex base, ValueId root, bool clone) {
    ListedStorage storage = space_.list.storages[static_cast<size_t>(base)];
    storage.root = root;
    if (clone) storage.is_fetched = false;
    made_.list.storages.push_back(storage);
    made_.base_storage.push_back(base);
    return static_cast<StorageIndex>(made_.list.storages.size() - 1);
  }

  // Whether the next clone that makes the storage is not retained.
  bool IsReleased(StorageIndex base) {
    const int32_t gap = gap_of(base);
    if (gap < 0) return false;
    const auto at = static_cast<size_t>(gap);
    return space_.IsTail(at) || fates_.released[at] == kReleaseAll ||
           clones_in_gap(base) < fates_.released[at];
  }

  void ReleaseSources() {
    for (const StorageIndex base : to_release_) {
      if (gap_of(base) < 0) continue;  // the step has read it
      if (space_.IsTail(static_cast<size_t>(gap_of(base)))) {
        is_over(base) = 1;
      } else {
        storage_of(base) = kNoStorage;
      }
    }
    to_release_.clear();
  }

  void BeginGaps() {
    const std::vector<Gap>& gaps = space_.model.gaps;
    for (; next_gap_ < gaps.size() && gaps[next_gap_].last <= now_;
         ++next_gap_) {
      if (gaps[next_gap_].storage == kNoStorage) continue;
      Begin(gaps[next_gap_].storage, next_gap_);
    }
    const std::vector<StorageIndex>& ends = space_.by_last_use;
    for (; next_end_ < ends.size(); ++next_end_) {
      const StorageIndex base = ends[next_end_];
      if (space_.last_use[static_cast<size_t>(base)] > now_) break;
      Begin(base, space_.TailOf(base));
    }
  }

  void Begin(StorageIndex base, size_t gap) {
    gap_of(base) = static_cast<int32_t>(gap);
    clones_in_gap(base) = 0;
    if (fates_.of_gap[gap] != Fate::kRecomputed) return;
    if (space_.IsTail(gap)) {
      is_over(base) = 1;
    } else {
      storage_of(base) = kNoStorage;
    }
  }

  const RecomputeSpace& space_;
  const Fates& fates_;
  // By storage of the original step: in the list, kNoStorage if its bytes are
  // nowhere; the gap in which the step is, or -1.
  std::vector<StorageIndex> storage_of_;
  std::vector<int32_t> gap_of_;
  // 1: no original step uses it any more, and a clone makes it again for
  // others, unless a variable that it depends on has been updated: then its
  // bytes are still there.
  std::vector<char> is_over_;
  // Clones that have made the storage in the gap in which the step is.
  std::vector<int32_t> clones_in_gap_;
  IdMap<ValueId, Name> name_of_;
  size_t next_value_ = 0;  // the id of the next clone's output
  int32_t now_ = 0;
  size_t next_gap_ = 0;
  size_t next_end_ = 0;
  std::vector<StorageIndex> to_release_;
  bool has_failed_ = false;
  Materialized made_;
};

// Twice the place among the original steps: odd for one of them, even for a
// clone before it.
int32_t PlaceOf(const Materialized& materialized, size_t num_original,
                int32_t step) {
  const auto at = static_cast<size_t>(step);
  const bool is_clone =
      materialized.list.steps[at].node.index() >= num_original;
  return 2 * materialized.base_step[at] + (is_clone ? 0 : 1);
}

// Reads the clones and their readers off the materialized list.
class ClonePlanner {
 public:
  ClonePlanner(const RecomputeSpace& space, const Materialized& materialized)
      : space_(space), materialized_(materialized) {
    plan_.clones.resize(materialized.clones.size());
  }

  RecomputePlan Run() {
    const StepList& list = materialized_.list;
    for (size_t k = 0; k < list.steps.size(); ++k) {
      if (list.steps[k].node.index() < space_.graph.num_nodes()) {
        AddReads(list.steps[k]);
      } else {
        AddClone(list.steps[k], materialized_.base_step[k]);
      }
    }
    for (Clone& clone : plan_.clones) {
      for (CloneReaders& readers : clone.readers) {
        std::ranges::sort(readers.readers);
      }
      std::ranges::sort(clone.readers, {}, &CloneReaders::output);
    }
    return std::move(plan_);
  }

 private:
  bool IsOfClone(ValueId value) const {
    return value.index() >= space_.graph.num_values();
  }

  CloneInput InputOf(ValueId value) const {
    return IsOfClone(value)
               ? made_by_[value.index() - space_.graph.num_values()]
               : CloneInput{.value = value};
  }

  // For a step of the original graph.
  void AddReads(const ListedStep& step) {
    for (const Slot& slot : materialized_.list.inputs(step)) {
      if (!IsOfClone(slot.value)) continue;
      const CloneInput from = InputOf(slot.value);
      std::vector<CloneReaders>& readers =
          plan_.clones[static_cast<size_t>(from.clone)].readers;
      auto of = std::ranges::find(readers, from.output, &CloneReaders::output);
      if (of == readers.end()) of = readers.insert(of, {.output = from.output});
      // All slots of a step follow each other.
      if (of->readers.empty() || of->readers.back() != step.node) {
        of->readers.push_back(step.node);
      }
    }
  }

  void AddClone(const ListedStep& step, int32_t before) {
    const size_t index = step.node.index() - space_.graph.num_nodes();
    const Remake& remake =
        space_.remakes[static_cast<size_t>(materialized_.clones[index])];
    Clone& clone = plan_.clones[index];
    clone.original = remake.original;
    clone.derived_output = remake.derived_output;
    for (const Slot& slot : materialized_.list.inputs(step)) {
      clone.inputs.push_back(InputOf(slot.value));
    }
    clone.triggers = {StepNode(before - 1)};
    for (int32_t i = 0; i < step.num_outputs; ++i) {
      made_by_.push_back({.clone = static_cast<int32_t>(index), .output = i});
    }
    for (const int32_t update : remake.updates) {
      plan_.orders.push_back(
          {.before = static_cast<int32_t>(index), .after = StepNode(update)});
    }
  }

  NodeId StepNode(int32_t original_step) const {
    return space_.list.steps[static_cast<size_t>(original_step)].node;
  }

  const RecomputeSpace& space_;
  const Materialized& materialized_;
  std::vector<CloneInput> made_by_;  // by value that a clone makes
  RecomputePlan plan_;
};

}  // namespace

std::string_view FateName(Fate fate) {
  switch (fate) {
    case Fate::kKept:
      return "kept";
    case Fate::kSwapped:
      return "swapped";
    case Fate::kRecomputed:
      return "recomputed";
  }
  return "";
}

Fates KeepAll(const RecomputeSpace& space) {
  Fates fates = {.of_gap = std::vector<Fate>(space.num_gaps(), Fate::kKept),
                 .released = std::vector<uint8_t>(space.num_gaps(), 0)};
  for (size_t i = space.model.gaps.size(); i < space.num_gaps(); ++i) {
    if (space.can_recompute[i] != 0) fates.of_gap[i] = Fate::kRecomputed;
  }
  return fates;
}

std::optional<Materialized> Materialize(const RecomputeSpace& space,
                                        const Fates& fates) {
  return Materializer(space, fates).Run();
}

std::vector<int32_t> SpaceGapsOf(const RecomputeSpace& space,
                                 const Materialized& materialized,
                                 const StepModel& model) {
  std::vector<int32_t> found(model.gaps.size(), -1);
  for (size_t i = 0; i < model.gaps.size(); ++i) {
    const Gap& gap = model.gaps[i];
    if (gap.storage == kNoStorage) continue;
    const StorageIndex base =
        materialized.base_storage[static_cast<size_t>(gap.storage)];
    const size_t nodes = space.graph.num_nodes();
    const int32_t last = PlaceOf(materialized, nodes, gap.last);
    const int32_t next = PlaceOf(materialized, nodes, gap.next);
    for (const int32_t g : space.gaps_of[static_cast<size_t>(base)]) {
      const Gap& around = space.model.gaps[static_cast<size_t>(g)];
      if (2 * around.last + 1 <= last && next <= 2 * around.next + 1) {
        found[i] = g;
      }
    }
    if (found[i] < 0 && last > 2 * space.last_use[static_cast<size_t>(base)]) {
      found[i] = static_cast<int32_t>(space.TailOf(base));
    }
  }
  return found;
}

RecomputePlan PlanOf(const RecomputeSpace& space,
                     const Materialized& materialized) {
  return ClonePlanner(space, materialized).Run();
}

Schedule ScheduleOf(const RecomputeSpace& space,
                    const Materialized& materialized) {
  Schedule schedule;
  size_t next = 0;  // step of the list
  for (const NodeId id : space.schedule.order) {
    if (IsResidentNode(space.graph.node(id), space.ops)) {
      schedule.order.push_back(id);
      continue;
    }
    do {
      schedule.order.push_back(materialized.list.steps[next].node);
    } while (materialized.list.steps[next++].node != id);
  }
  SetSteps(space.graph.num_nodes() + materialized.clones.size(), schedule);
  return schedule;
}

}  // namespace spillway
