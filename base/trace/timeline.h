// What ran when: spans on named tracks. Filled by the executor (measured) and
// by the simulator (predicted), so that the same code draws and compares both.
//
// Units: nanoseconds since the start of the step. Threads: none.
#ifndef SPILLWAY_BASE_TRACE_TIMELINE_H_
#define SPILLWAY_BASE_TRACE_TIMELINE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace spillway {

struct Span {
  int32_t track = 0;          // index into Timeline::tracks
  std::string name = {};      // the node
  std::string category = {};  // the op
  int64_t begin_ns = 0;       // half-open [begin_ns, end_ns)
  int64_t end_ns = 0;
  int64_t bytes = 0;  // moved by a copy; 0 for compute
  // The node whose values the kernel computes a second time; or empty.
  std::string recomputes = {};
};

// One value of a named quantity from `at_ns` until the next value.
struct CounterSample {
  std::string counter = {};
  int64_t at_ns = 0;
  int64_t value = 0;
};

// The path of one tensor: indices into Timeline::spans, in order of time, from
// the span that moves the tensor to the span that needs it.
struct Flow {
  std::string name = {};  // the tensor
  std::vector<int32_t> spans = {};
};

// The first track is idle in [begin_ns, end_ns).
struct TrackStall {
  std::string waits_for = {};  // the span whose end it waits for; or empty
  std::string cause = {};      // the track of that span; or "host"
  std::string before = {};     // the span that runs next
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

struct Timeline {
  std::vector<std::string> tracks = {};  // "compute", "copy out", "copy in"
  std::vector<Span> spans = {};
  std::vector<CounterSample> counters = {};
  std::vector<Flow> flows = {};
  std::vector<TrackStall> stalls = {};  // in order of time
};

// Busy time of one track: the union of its spans. Overlap: time in which the
// first track is busy and at least one of the others is too.
int64_t BusyNs(const Timeline& timeline, int32_t track);
int64_t OverlapNs(const Timeline& timeline, int32_t track);

// First begin to last end over all spans; 0 without spans.
int64_t TotalNs(const Timeline& timeline);

// One process of a Chrome trace, so that one trace can show "predicted" next to
// "measured".
struct TraceProcess {
  std::string name = {};
  const Timeline* timeline = nullptr;  // borrowed for the call
};

// Chrome trace-event JSON (opens in Perfetto and chrome://tracing): one process
// for each entry. A process has one thread for each track, and one more thread,
// "stalls", below the first track if that track stalls. Spans and stalls are
// complete events in microseconds; a flow is an arrow from each of its spans to
// the next. Processes and threads count from 1, because Perfetto takes 0 for
// the kernel's.
std::string FormatChromeTrace(const std::vector<TraceProcess>& processes);

// The same as a file. Errors: INVALID_ARGUMENT for a process without a
// timeline; as WriteFileAtomically (base/file.h).
absl::Status WriteChromeTrace(const std::vector<TraceProcess>& processes,
                              const std::string& path);

}  // namespace spillway

#endif  // SPILLWAY_BASE_TRACE_TIMELINE_H_
