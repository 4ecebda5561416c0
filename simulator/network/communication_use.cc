#include "simulator/network/communication_use.h"

#include "executor/plan/plan.h"

namespace spillway {

CommunicationUse MeasureCommunication(const Timeline& timeline) {
  constexpr auto kComputeTrack = static_cast<int32_t>(Lane::kCompute);
  constexpr auto kTrack = static_cast<int32_t>(Lane::kCommunication);
  Timeline both = {.tracks = timeline.tracks};  // without the copies
  for (const Span& span : timeline.spans) {
    if (span.track != kTrack && span.track != kComputeTrack) continue;
    both.spans.push_back(span);
  }
  return {.busy_ns = BusyNs(both, kTrack),
          .hidden_ns = OverlapNs(both, kTrack)};
}

}  // namespace spillway
