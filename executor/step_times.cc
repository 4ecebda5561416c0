#include "executor/step_times.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "executor/plan/explain_timeline.h"

namespace spillway {

absl::Status StepTimes::Prepare(Device& device) {
  const EventOptions timing = {.timing = true};
  while (events_.size() < plan_.steps.size()) {
    Events events;
    SPILLWAY_ASSIGN_OR_RETURN(events.begin, device.NewEvent(timing));
    SPILLWAY_ASSIGN_OR_RETURN(events.end, device.NewEvent(timing));
    events_.push_back(std::move(events));
  }
  return absl::OkStatus();
}

void StepTimes::FillTimeline(Timeline& timeline) const {
  timeline = {};
  timeline.tracks = UsedLanes(plan_);
  int64_t start_ns = std::numeric_limits<int64_t>::max();
  for (const Events& events : events_) {
    start_ns = std::min(start_ns, events.begin->TimeNs());
  }
  for (const StepId id : events_.ids()) {
    const Step& step = plan_.steps[id];
    if (step.kind == StepKind::kAlias) continue;
    const Node& node = graph_.node(step.node);
    timeline.spans.push_back(
        {.track = static_cast<int32_t>(step.lane),
         .name = node.name,
         .category = node.op,
         .begin_ns = begin(id)->TimeNs() - start_ns,
         .end_ns = end(id)->TimeNs() - start_ns,
         .bytes =
             IsCopy(step.kind) ? plan_.buffers[step.outputs[0]].bytes : 0});
  }
  ExplainTimeline(plan_, graph_, timeline);
}

}  // namespace spillway
