#include "executor/plan/place_waits.h"

#include <algorithm>
#include <array>

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

// First compute step that reads the bytes a copy-in writes: it waits for the
// copy, so from there on the host bytes are known to be read. By step; the
// number of steps if there is none.
std::vector<int64_t> FirstComputeReaders(const IdMap<StepId, Step>& steps,
                                         size_t num_buffers) {
  const auto end = static_cast<int64_t>(steps.size());
  std::vector<int64_t> reader(steps.size(), end);
  std::vector<int64_t> next_reader(num_buffers, end);
  for (int64_t at = end - 1; at >= 0; --at) {
    const Step& step = steps[StepId(static_cast<int32_t>(at))];
    if (step.kind == StepKind::kSwapIn) {
      reader[static_cast<size_t>(at)] = next_reader[step.outputs[0].index()];
    }
    if (step.lane == Lane::kCompute) {
      for (const BufferId input : step.inputs) next_reader[input.index()] = at;
    }
  }
  return reader;
}

bool IsResident(const Buffer& buffer) {
  return buffer.kind == BufferKind::kVariable ||
         buffer.kind == BufferKind::kConstant;
}

// What each lane knows to be done: for every lane, a position below which all
// its steps are finished.
using Clock = std::array<int64_t, kNumLanes>;

void Merge(Clock& clock, const Clock& other) {
  for (size_t lane = 0; lane < clock.size(); ++lane) {
    clock[lane] = std::max(clock[lane], other[lane]);
  }
}

}  // namespace

Lifetimes FindLifetimes(const IdMap<StepId, Step>& steps,
                        const IdMap<BufferId, Buffer>& buffers,
                        const IdMap<BufferId, bool>& fetched) {
  const auto end = static_cast<int64_t>(steps.size());
  const std::vector<int64_t> reader =
      FirstComputeReaders(steps, buffers.size());
  Lifetimes lifetimes;
  lifetimes.of.resize(buffers.size());
  IdMap<BufferId, StepId> copy_out(buffers.size());
  for (int64_t at = 0; at < end; ++at) {
    const StepId id(static_cast<int32_t>(at));
    const Step& step = steps[id];
    for (const BufferId input : step.inputs) {
      const bool read_by_copy_in = step.kind == StepKind::kSwapIn;
      const int64_t done =
          read_by_copy_in ? std::min(end, reader[static_cast<size_t>(at)] + 1)
                          : at + 1;
      Extend(lifetimes.of[input], at, done);
      if (step.kind == StepKind::kSwapOut) copy_out[input] = id;
    }
    for (const BufferId output : step.outputs) {
      Extend(lifetimes.of[output], at, at + 1);
    }
    if (step.workspace.is_valid()) lifetimes.of[step.workspace] = {at, at + 1};
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferId id(i);
    Interval& life = lifetimes.of[id];
    if (IsResident(buffers[id])) {
      life = {};
    } else if (fetched[id]) {
      life.end = end;
    } else if (copy_out[id].is_valid()) {
      // `end` already lies after the copy's own step and every direct use.
      lifetimes.swapped.push_back({id, copy_out[id], life.end});
    }
  }
  std::ranges::sort(lifetimes.swapped, {}, &SwappedBuffer::copy_out);
  return lifetimes;
}

void DelayWaits(const IdMap<StepId, Step>& steps,
                const IdMap<BufferId, Buffer>& buffers, int64_t target_bytes,
                Lifetimes& lifetimes) {
  const auto end = static_cast<int64_t>(steps.size());
  const auto bytes = [&](BufferId id) {
    return AlignUp(buffers[id].bytes, kBufferAlignment);
  };
  // Bytes that appear and disappear at each position, swapped ones never.
  std::vector<int64_t> change(steps.size() + 1, 0);
  IdMap<BufferId, bool> swapped(buffers.size(), false);
  for (const SwappedBuffer& swap : lifetimes.swapped) {
    swapped[swap.buffer] = true;
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferId id(i);
    const Interval& life = lifetimes.of[id];
    if (life.empty() || buffers[id].space != Space::kDevice) continue;
    change[static_cast<size_t>(life.begin)] += bytes(id);
    if (!swapped[id]) change[static_cast<size_t>(life.end)] -= bytes(id);
  }
  std::vector<bool> released(lifetimes.swapped.size(), false);
  int64_t live = 0;
  for (int64_t at = 0; at < end; ++at) {
    live += change[static_cast<size_t>(at)];
    for (size_t i = 0; i < released.size() && live > target_bytes; ++i) {
      const SwappedBuffer& swap = lifetimes.swapped[i];
      if (swap.copy_out.value() >= at) break;
      if (released[i] || swap.earliest_end > at) continue;
      released[i] = true;
      lifetimes.of[swap.buffer].end = at;
      live -= bytes(swap.buffer);
    }
  }
  for (size_t i = 0; i < released.size(); ++i) {
    if (!released[i]) lifetimes.of[lifetimes.swapped[i].buffer].end = end;
  }
}

void AddWaits(const std::vector<std::vector<StepId>>& dependencies,
              const Lifetimes& lifetimes, IdMap<StepId, Step>& steps) {
  const auto end = static_cast<int64_t>(steps.size());
  std::vector<std::vector<StepId>> released_at(steps.size());
  for (const SwappedBuffer& swap : lifetimes.swapped) {
    const int64_t at = lifetimes.of[swap.buffer].end;
    if (at < end) released_at[static_cast<size_t>(at)].push_back(swap.copy_out);
  }
  std::array<Clock, kNumLanes> lane_clock{};
  std::vector<Clock> done_after(steps.size());  // known once a step is done
  std::vector<StepId> released;  // since and at the last compute step
  StepId last_compute;
  for (int64_t at = 0; at < end; ++at) {
    const StepId id(static_cast<int32_t>(at));
    Step& step = steps[id];
    const auto lane = static_cast<size_t>(step.lane);
    std::vector<StepId> wanted = dependencies[id.index()];
    released.insert(released.end(), released_at[id.index()].begin(),
                    released_at[id.index()].end());
    wanted.insert(wanted.end(), released.begin(), released.end());
    if (step.lane == Lane::kCompute) {
      released.clear();
      last_compute = id;
    } else if (last_compute.is_valid()) {
      wanted.push_back(last_compute);
    }
    // Latest first: a late step's completion implies most earlier ones.
    std::ranges::sort(wanted, std::ranges::greater());
    Clock& clock = lane_clock[lane];
    for (const StepId wait : wanted) {
      const auto other = static_cast<size_t>(steps[wait].lane);
      if (other == lane || clock[other] > wait.value()) continue;
      step.waits.push_back(wait);
      Merge(clock, done_after[wait.index()]);
    }
    std::ranges::sort(step.waits);
    clock[lane] = at + 1;
    done_after[id.index()] = clock;
  }
}

}  // namespace spillway
