#include "executor/plan/lifetimes.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/units.h"

namespace spillway {
namespace {

void Extend(Interval& interval, int64_t begin, int64_t end) {
  if (interval.empty()) {
    interval = {begin, end};
  } else {
    interval.begin = std::min(interval.begin, begin);
    interval.end = std::max(interval.end, end);
  }
}

bool Communicates(const Step& step) {
  return step.lane == Lane::kCommunication;
}

// For each copy to the device and each collective, the end of the first compute
// step that reads a result. That step waits for it, so afterwards its inputs
// are known to be read. The number of steps if no step reads a result.
std::vector<int64_t> KnownDone(const ExecutionPlan& plan) {
  const auto end = static_cast<int64_t>(plan.steps.size());
  std::vector<int64_t> done(plan.steps.size(), end);
  std::vector<int64_t> next_reader(plan.buffers.size(), end);
  for (int64_t at = end - 1; at >= 0; --at) {
    const Step& step = plan.steps[StepId(static_cast<int32_t>(at))];
    if (step.kind == StepKind::kSwapIn || Communicates(step)) {
      int64_t& known = done[static_cast<size_t>(at)];
      for (const BufferId output : step.outputs) {
        known = std::min(known, next_reader[output.index()] + 1);
      }
    }
    if (step.lane != Lane::kCompute) continue;
    for (const BufferId input : step.inputs) next_reader[input.index()] = at;
  }
  return done;
}

class LifetimeFinder {
 public:
  explicit LifetimeFinder(const ExecutionPlan& plan)
      : plan_(plan),
        known_done_(KnownDone(plan)),
        copy_(plan.buffers.size()),
        latest_(plan.buffers.size(), 0) {
    result_.of.resize(plan.buffers.size());
  }

  Lifetimes Run() {
    for (const StepId step : plan_.steps.ids()) AddUses(step);
    const auto end = static_cast<int64_t>(plan_.steps.size());
    for (const ValueId value : plan_.fetches) {
      const BufferId fetched = plan_.buffer_of[value];
      result_.of[fetched].end = end;
      copy_[fetched] = {};  // has no choice
    }
    for (const BufferId buffer : plan_.buffers.ids()) Finish(buffer);
    std::ranges::sort(result_.delayable, {}, &DelayableEnd::copy);
    return std::move(result_);
  }

 private:
  void AddUses(StepId id) {
    const Step& step = plan_.steps[id];
    const int64_t at = id.value();
    for (const BufferId input : step.inputs) {
      Extend(result_.of[input], at, at + 1);
      if (step.kind == StepKind::kSwapOut) {
        copy_[input] = id;
        latest_[input] = static_cast<int64_t>(plan_.steps.size());
      } else if (step.kind == StepKind::kSwapIn || Communicates(step)) {
        Delay(input, id);
      }
    }
    for (const BufferId output : step.outputs) {
      Extend(result_.of[output], at, at + 1);
    }
    if (step.workspace.is_valid()) {
      result_.of[step.workspace] = {at, at + 1};
      if (Communicates(step)) Delay(step.workspace, id);
    }
  }

  // Until the copy or collective, which uses the buffer, is known to be done.
  void Delay(BufferId buffer, StepId copy) {
    copy_[buffer] = copy;
    latest_[buffer] = std::max(latest_[buffer], known_done_[copy.index()]);
  }

  void Finish(BufferId id) {
    Interval& life = result_.of[id];
    if (IsResident(plan_.buffers[id])) {
      life = {};
    } else if (copy_[id].is_valid()) {
      result_.delayable.push_back({.buffer = id,
                                   .copy = copy_[id],
                                   .soonest = life.end,
                                   .latest = std::max(life.end, latest_[id])});
    }
  }

  const ExecutionPlan& plan_;
  const std::vector<int64_t> known_done_;  // by step
  IdMap<BufferId, StepId> copy_;
  IdMap<BufferId, int64_t> latest_;
  Lifetimes result_;
};

}  // namespace

Lifetimes FindLifetimes(const ExecutionPlan& plan) {
  return LifetimeFinder(plan).Run();
}

void KeepForCollectives(const ExecutionPlan& plan, Lifetimes& lifetimes) {
  constexpr size_t kInFlight = 2;
  std::vector<int64_t> issued;
  for (const StepId id : plan.steps.ids()) {
    if (Communicates(plan.steps[id])) issued.push_back(id.value());
  }
  const auto released = [&](StepId collective) {
    const auto own = std::ranges::lower_bound(issued, collective.value());
    const auto last = static_cast<size_t>(own - issued.begin()) + kInFlight;
    return last < issued.size() ? issued[last]
                                : static_cast<int64_t>(plan.steps.size());
  };
  std::erase_if(lifetimes.delayable, [&](const DelayableEnd& end) {
    if (!Communicates(plan.steps[end.copy])) return false;
    lifetimes.of[end.buffer].end =
        std::clamp(released(end.copy), end.soonest, end.latest);
    return true;
  });
}

void DelayEnds(const ExecutionPlan& plan, Space space, int64_t target_bytes,
               Lifetimes& lifetimes) {
  const auto in_space = [&](BufferId id) {
    return plan.buffers[id].space == space;
  };
  const auto bytes = [&](BufferId id) {
    return AlignUp(plan.buffers[id].bytes, kBufferAlignment);
  };
  // Sets every end to its latest: the bytes that begin and end at each place.
  std::vector<int64_t> change(plan.steps.size() + 1, 0);
  std::vector<std::vector<size_t>> endable(plan.steps.size() + 1);
  for (size_t i = 0; i < lifetimes.delayable.size(); ++i) {
    const DelayableEnd& end = lifetimes.delayable[i];
    if (!in_space(end.buffer)) continue;
    lifetimes.of[end.buffer].end = end.latest;
    endable[static_cast<size_t>(end.soonest)].push_back(i);
  }
  for (const BufferId buffer : plan.buffers.ids()) {
    const Interval& life = lifetimes.of[buffer];
    if (life.empty() || !in_space(buffer)) continue;
    change[static_cast<size_t>(life.begin)] += bytes(buffer);
    change[static_cast<size_t>(life.end)] -= bytes(buffer);
  }
  // `delayable` is in the order of the copies, so the lowest index is the
  // earliest copy.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> may_end;
  int64_t live = 0;
  for (size_t at = 0; at < plan.steps.size(); ++at) {
    live += change[at];
    for (const size_t i : endable[at]) may_end.push(i);
    while (live > target_bytes && !may_end.empty()) {
      const DelayableEnd& end = lifetimes.delayable[may_end.top()];
      may_end.pop();
      Interval& life = lifetimes.of[end.buffer];
      if (life.end <= static_cast<int64_t>(at)) continue;  // has already ended
      live -= bytes(end.buffer);
      change[static_cast<size_t>(life.end)] += bytes(end.buffer);
      life.end = static_cast<int64_t>(at);
    }
  }
}

}  // namespace spillway
