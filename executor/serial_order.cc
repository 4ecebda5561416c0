#include "executor/serial_order.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace spillway {
namespace {

// Takes steps lane by lane, each lane in order.
class Orderer {
 public:
  explicit Orderer(const ExecutionPlan& plan)
      : plan_(plan), is_done_(plan.steps.size(), false) {
    for (const StepId id : plan.steps.ids()) {
      const Step& step = plan.steps[id];
      for (const StepId wait : step.waits) SPILLWAY_CHECK(wait < id);
      lane(step.lane).steps.push_back(id);
    }
  }

  std::vector<StepId> Run(CopyTime copies) {
    for (const StepId id : lane(Lane::kCompute).steps) {
      if (copies == CopyTime::kEarly) RunReadyCopies();
      RunThrough(id);
    }
    if (copies == CopyTime::kEarly) RunReadyCopies();
    for (const StepId step : plan_.steps.ids()) RunThrough(step);
    return std::move(order_);
  }

 private:
  struct LaneSteps {
    std::vector<StepId> steps = {};
    size_t next = 0;
  };

  LaneSteps& lane(Lane lane) { return lanes_[static_cast<size_t>(lane)]; }

  // Runs the steps of the lane up to `last`, and before each the steps it waits
  // for.
  void RunThrough(StepId last) {
    LaneSteps& lane = this->lane(plan_.steps[last].lane);
    while (!is_done_[last]) {
      const StepId id = lane.steps[lane.next];
      for (const StepId wait : plan_.steps[id].waits) RunThrough(wait);
      Append(id);
    }
  }

  // Also nodes on the host and collectives. Steps of one lane may make those of
  // another ready.
  void RunReadyCopies() {
    size_t before = 0;
    do {
      before = order_.size();
      for (const Lane other :
           {Lane::kCopyOut, Lane::kCopyIn, Lane::kHost, Lane::kCommunication}) {
        LaneSteps& lane = this->lane(other);
        while (lane.next < lane.steps.size() &&
               IsReady(lane.steps[lane.next])) {
          Append(lane.steps[lane.next]);
        }
      }
    } while (order_.size() > before);
  }

  bool IsReady(StepId id) const {
    return std::ranges::all_of(plan_.steps[id].waits,
                               [&](StepId wait) { return is_done_[wait]; });
  }

  void Append(StepId id) {
    order_.push_back(id);
    is_done_[id] = true;
    ++lane(plan_.steps[id].lane).next;
  }

  const ExecutionPlan& plan_;
  std::array<LaneSteps, kNumLanes> lanes_;
  IdMap<StepId, bool> is_done_;
  std::vector<StepId> order_;
};

std::vector<BufferId> Written(const Step& step) {
  std::vector<BufferId> written = step.outputs;
  if (step.workspace.is_valid()) written.push_back(step.workspace);
  return written;
}

void FindLives(const ExecutionPlan& plan, SerialOrder& order) {
  IdMap<BufferId, StepId> first_write(plan.buffers.size());
  IdMap<BufferId, StepId> last_use(plan.buffers.size());
  for (const StepId id : order.steps) {
    const Step& step = plan.steps[id];
    for (const BufferId input : step.inputs) last_use[input] = id;
    for (const BufferId written : Written(step)) {
      last_use[written] = id;
      if (!first_write[written].is_valid()) first_write[written] = id;
    }
  }
  for (const ValueId value : plan.fetches) {
    last_use[plan.buffer_of[value]] = {};
  }
  order.begins.resize(plan.steps.size());
  order.ends.resize(plan.steps.size());
  for (const BufferId id : plan.buffers.ids()) {
    if (IsResident(plan.buffers[id])) continue;
    if (first_write[id].is_valid()) order.begins[first_write[id]].push_back(id);
    if (last_use[id].is_valid()) order.ends[last_use[id]].push_back(id);
  }
}

}  // namespace

SerialOrder MakeSerialOrder(const ExecutionPlan& plan, CopyTime copies) {
  SerialOrder order;
  order.steps = Orderer(plan).Run(copies);
  FindLives(plan, order);
  return order;
}

}  // namespace spillway
