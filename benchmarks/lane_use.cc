#include "benchmarks/lane_use.h"

#include <algorithm>

namespace spillway {
namespace {

constexpr auto kComputeTrack = static_cast<int32_t>(Lane::kCompute);
constexpr int32_t kCopyTrack = kComputeTrack + 1;

// `timeline` with all copies on one track.
Timeline JoinCopies(const Timeline& timeline) {
  Timeline joined = {.tracks = {"compute", "copies"}, .spans = timeline.spans};
  for (Span& span : joined.spans) {
    if (span.track == static_cast<int32_t>(Lane::kCopyIn)) {
      span.track = kCopyTrack;
    }
  }
  return joined;
}

}  // namespace

double LaneUse::hidden_part() const {
  return static_cast<double>(hidden_ns) /
         static_cast<double>(std::max<int64_t>(copy_ns, 1));
}

LaneUse MeasureLanes(const Timeline& timeline) {
  LaneUse use = {.step_ns = TotalNs(timeline)};
  for (int32_t lane = 0; lane < kNumLanes; ++lane) {
    use.busy_ns[static_cast<size_t>(lane)] = BusyNs(timeline, lane);
  }
  const Timeline joined = JoinCopies(timeline);
  use.copy_ns = BusyNs(joined, kCopyTrack);
  use.hidden_ns = OverlapNs(joined, kCopyTrack);
  return use;
}

}  // namespace spillway
