#include "simulator/memory_over_time.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace spillway {
namespace {

class OwnerTimes {
 public:
  OwnerTimes(const ExecutionPlan& plan, const SimulatedStep& step)
      : plan_(plan), ran_(step.ran), owned_(plan.buffers.size()) {
    for (const StepId id : plan.steps.ids()) AddUses(id);
    for (const ValueId value : plan.fetches) {
      owned_[plan.buffer_of[value]].end = step.step_ns;
    }
    for (const BufferId id : plan.buffers.ids()) {
      const Buffer& buffer = plan.buffers[id];
      if (IsResident(buffer)) owned_[id] = {0, step.step_ns};
    }
  }

  IdMap<BufferId, Interval> Take() { return std::move(owned_); }

 private:
  void AddUses(StepId id) {
    const Step& step = plan_.steps[id];
    for (const BufferId input : step.inputs) AddUse(input, id);
    for (const BufferId output : step.outputs) AddUse(output, id);
    if (step.workspace.is_valid()) AddUse(step.workspace, id);
  }

  void AddUse(BufferId buffer, StepId id) {
    Interval& owned = owned_[buffer];
    if (id.value() == plan_.buffers[buffer].live.begin) {
      owned.begin = ran_[id].begin;
    }
    owned.end = std::max(owned.end, ran_[id].end);
  }

  const ExecutionPlan& plan_;
  const IdMap<StepId, Interval>& ran_;
  IdMap<BufferId, Interval> owned_;
};

// A time, and the bytes that are added (or, if negative, freed) at that time.
using Change = std::pair<int64_t, int64_t>;

std::vector<Change> Changes(const ExecutionPlan& plan,
                            const IdMap<BufferId, Interval>& owned,
                            Space space) {
  std::vector<Change> changes;
  for (const BufferId id : plan.buffers.ids()) {
    const Buffer& buffer = plan.buffers[id];
    const Interval& time = owned[id];
    if (buffer.space != space || IsResident(buffer) || time.empty()) continue;
    changes.emplace_back(time.begin, buffer.bytes);
    changes.emplace_back(time.end, -buffer.bytes);
  }
  std::ranges::sort(changes);
  return changes;
}

}  // namespace

IdMap<BufferId, Interval> OwnedTimes(const ExecutionPlan& plan,
                                     const SimulatedStep& step) {
  return OwnerTimes(plan, step).Take();
}

std::string_view MemoryCounter(Space space) {
  return space == Space::kDevice ? "device bytes" : "host bytes";
}

std::vector<CounterSample> MemoryOverTime(
    const ExecutionPlan& plan, const IdMap<BufferId, Interval>& owned,
    Space space) {
  const std::string counter(MemoryCounter(space));
  int64_t bytes = ResidentBytes(plan, space);
  std::vector<CounterSample> samples = {{.counter = counter, .value = bytes}};
  const std::vector<Change> changes = Changes(plan, owned, space);
  for (size_t i = 0; i < changes.size();) {
    const int64_t at_ns = changes[i].first;
    for (; i < changes.size() && changes[i].first == at_ns; ++i) {
      bytes += changes[i].second;
    }
    if (at_ns == 0) {
      samples[0].value = bytes;
    } else if (bytes != samples.back().value) {
      samples.push_back({.counter = counter, .at_ns = at_ns, .value = bytes});
    }
  }
  return samples;
}

CounterSample PeakOf(const std::vector<CounterSample>& samples) {
  SPILLWAY_CHECK(!samples.empty());
  return *std::ranges::max_element(samples, {}, &CounterSample::value);
}

void AddMemoryCounters(const ExecutionPlan& plan, SimulatedStep& step) {
  const IdMap<BufferId, Interval> owned = OwnedTimes(plan, step);
  for (const Space space : {Space::kDevice, Space::kHost}) {
    if (space == Space::kHost && plan.host_bytes == 0) continue;
    for (CounterSample& sample : MemoryOverTime(plan, owned, space)) {
      step.timeline.counters.push_back(std::move(sample));
    }
  }
}

}  // namespace spillway
