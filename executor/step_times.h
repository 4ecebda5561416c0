// StepTimes: a timeline of when the steps of a plan ran, from timing events
// that an executor records before and after them.
#ifndef SPILLWAY_EXECUTOR_STEP_TIMES_H_
#define SPILLWAY_EXECUTOR_STEP_TIMES_H_

#include <memory>

#include "absl/status/status.h"
#include "base/ids.h"
#include "base/trace/timeline.h"
#include "executor/device/device.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"

namespace spillway {

class StepTimes {
 public:
  // Both are borrowed.
  StepTimes(const Graph& graph, const ExecutionPlan& plan)
      : graph_(graph), plan_(plan) {}

  // Makes the events; called once, before the first timeline.
  absl::Status Prepare(Device& device);

  // The executor records these when the step begins and ends. After Prepare.
  Event* begin(StepId id) const { return events_[id].begin.get(); }
  Event* end(StepId id) const { return events_[id].end.get(); }

  // Call after all events were recorded and the streams synchronised. Adds a
  // span for each step except aliases, from the beginning of the first step on;
  // and flows and stalls.
  void FillTimeline(Timeline& timeline) const;

 private:
  struct Events {
    std::unique_ptr<Event> begin;
    std::unique_ptr<Event> end;
  };

  const Graph& graph_;
  const ExecutionPlan& plan_;
  IdMap<StepId, Events> events_;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_STEP_TIMES_H_
