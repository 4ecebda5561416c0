#include "executor/plan/place_waits.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>

#include "base/interval.h"

namespace spillway {
namespace {

// By lane; invalid: no step.
using StepByLane = std::array<StepId, kNumLanes>;

// The steps that a lane knows to be done: for every lane, a step id below which
// all its steps are done.
using Clock = std::array<int64_t, kNumLanes>;

void Merge(Clock& clock, const Clock& other) {
  for (size_t lane = 0; lane < clock.size(); ++lane) {
    clock[lane] = std::max(clock[lane], other[lane]);
  }
}

// The last buffer that used each byte of one space.
class ByteOwners {
 public:
  // Makes `buffer` the owner of `bytes`; calls visit(BufferId) for every
  // previous owner of some of them.
  template <typename Visit>
  void Take(BufferId buffer, const Interval& bytes, Visit visit) {
    Split(bytes.begin);
    Split(bytes.end);
    const auto first = owners_.lower_bound(bytes.begin);
    const auto last = owners_.lower_bound(bytes.end);
    for (auto it = first; it != last; ++it) {
      if (it->second.is_valid()) visit(it->second);
    }
    owners_.erase(first, last);
    owners_[bytes.begin] = buffer;
  }

 private:
  // Makes a range begin at `at`.
  void Split(int64_t at) {
    const auto after = owners_.upper_bound(at);
    const BufferId owner =
        after == owners_.begin() ? BufferId() : std::prev(after)->second;
    owners_.emplace_hint(after, at, owner);
  }

  std::map<int64_t, BufferId> owners_;  // of the bytes from the key on
};

class WaitPlacer {
 public:
  WaitPlacer(const IdMap<StepId, std::vector<StepId>>& dependencies,
             ExecutionPlan& plan)
      : dependencies_(dependencies), plan_(plan) {}

  void Run() {
    FindUses();
    for (const StepId step : plan_.steps.ids()) {
      std::vector<StepId> wanted = dependencies_[step];
      AddOwnersBefore(step, wanted);
      AddNeeded(step, std::move(wanted));
    }
  }

 private:
  template <typename Visit>
  static void ForEachBuffer(const Step& step, Visit visit) {
    for (const BufferId input : step.inputs) visit(input);
    for (const BufferId output : step.outputs) visit(output);
    if (step.workspace.is_valid()) visit(step.workspace);
  }

  void FindUses() {
    first_use_.resize(plan_.buffers.size());
    last_uses_.resize(plan_.buffers.size());
    for (const StepId id : plan_.steps.ids()) {
      const Step& step = plan_.steps[id];
      ForEachBuffer(step, [&](BufferId buffer) {
        if (!first_use_[buffer].is_valid()) first_use_[buffer] = id;
        last_uses_[buffer][static_cast<size_t>(step.lane)] = id;
      });
    }
  }

  // The last uses of the bytes of each buffer that this step is the first to
  // use.
  void AddOwnersBefore(StepId id, std::vector<StepId>& wanted) {
    ForEachBuffer(plan_.steps[id], [&](BufferId buffer) {
      if (first_use_[buffer] != id) return;
      const Buffer& b = plan_.buffers[buffer];
      if (b.bytes == 0 || IsResident(b)) return;
      owners_[static_cast<size_t>(b.space)].Take(
          buffer, {b.offset, b.offset + b.bytes}, [&](BufferId owner) {
            if (owner == buffer) return;
            for (const StepId use : last_uses_[owner]) {
              if (use.is_valid()) wanted.push_back(use);
            }
          });
    });
  }

  // Latest first: the end of a late step implies that of most earlier ones.
  void AddNeeded(StepId id, std::vector<StepId> wanted) {
    std::ranges::sort(wanted, std::ranges::greater());
    Step& step = plan_.steps[id];
    const auto lane = static_cast<size_t>(step.lane);
    Clock& clock = lane_clock_[lane];
    for (const StepId wait : wanted) {
      const auto other = static_cast<size_t>(plan_.steps[wait].lane);
      if (other == lane || clock[other] > wait.value()) continue;
      step.waits.push_back(wait);
      Merge(clock, done_after_[wait]);
    }
    std::ranges::sort(step.waits);
    clock[lane] = id.value() + 1;
    done_after_.push_back(clock);
  }

  const IdMap<StepId, std::vector<StepId>>& dependencies_;
  ExecutionPlan& plan_;
  IdMap<BufferId, StepId> first_use_;
  IdMap<BufferId, StepByLane> last_uses_;
  std::array<ByteOwners, 2> owners_;  // by space
  std::array<Clock, kNumLanes> lane_clock_{};
  IdMap<StepId, Clock> done_after_;  // known once a step is done
};

}  // namespace

void AddWaits(const IdMap<StepId, std::vector<StepId>>& dependencies,
              ExecutionPlan& plan) {
  WaitPlacer(dependencies, plan).Run();
}

}  // namespace spillway
