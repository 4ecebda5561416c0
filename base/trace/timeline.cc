#include "base/trace/timeline.h"

#include <algorithm>
#include <span>

#include "base/file.h"
#include "base/interval.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

// The union of `intervals` as disjoint intervals in rising order.
std::vector<Interval> Merge(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, {}, &Interval::begin);
  std::vector<Interval> merged;
  for (const Interval& interval : intervals) {
    if (interval.empty()) continue;
    if (!merged.empty() && interval.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, interval.end);
    } else {
      merged.push_back(interval);
    }
  }
  return merged;
}

// When the given track is busy, or when any other track is.
std::vector<Interval> BusyOn(const Timeline& timeline, int32_t track) {
  std::vector<Interval> busy;
  for (const Span& span : timeline.spans) {
    if (span.track == track) busy.push_back({span.begin_ns, span.end_ns});
  }
  return Merge(std::move(busy));
}

std::vector<Interval> BusyElsewhere(const Timeline& timeline, int32_t track) {
  std::vector<Interval> busy;
  for (const Span& span : timeline.spans) {
    if (span.track != track) busy.push_back({span.begin_ns, span.end_ns});
  }
  return Merge(std::move(busy));
}

int64_t IntersectionLength(std::span<const Interval> a,
                           std::span<const Interval> b) {
  int64_t length = 0;
  while (!a.empty() && !b.empty()) {
    const int64_t begin = std::max(a.front().begin, b.front().begin);
    const int64_t end = std::min(a.front().end, b.front().end);
    length += std::max<int64_t>(0, end - begin);
    std::span<const Interval>& first = a.front().end < b.front().end ? a : b;
    first = first.subspan(1);
  }
  return length;
}

double Microseconds(int64_t ns) { return static_cast<double>(ns) / 1000.0; }

// The events of one process, one event per line, so that a trace can be read
// and diffed.
//
// The viewer binds an arrow to the slice that is open on its thread when it
// reads the arrow. So an arrow's point lies inside its span, and follows the
// span in the file if both begin at the same time.
class ProcessEvents {
 public:
  ProcessEvents(const TraceProcess& process, int32_t id, int64_t& num_flows,
                std::string& out)
      : timeline_(*process.timeline),
        id_(id),
        num_flows_(num_flows),
        out_(out),
        arrows_(timeline_.spans.size()) {
    Append(Metadata("process_name", 0, {{"name", process.name}}));
  }

  void AppendAll() {
    AppendThreads();
    AddArrows();
    for (size_t i = 0; i < timeline_.spans.size(); ++i) {
      const Span& span = timeline_.spans[i];
      Append(SpanEvent(span));
      for (const Arrow& arrow : arrows_[i]) Append(ArrowEvent(arrow, span));
    }
    for (const TrackStall& stall : timeline_.stalls) Append(StallEvent(stall));
    for (const CounterSample& sample : timeline_.counters) {
      Append(CounterEvent(sample));
    }
  }

 private:
  // One point of a flow.
  struct Arrow {
    const Flow* flow = nullptr;
    int64_t id = 0;
    const char* phase = "";
  };

  // Stalls are shown below the first track.
  void AppendThreads() {
    const auto num_tracks = static_cast<int32_t>(timeline_.tracks.size());
    for (int32_t track = 0; track < num_tracks; ++track) {
      AppendThread(track, timeline_.tracks[static_cast<size_t>(track)],
                   track == 0 ? 0 : track + 1);
    }
    if (!timeline_.stalls.empty()) AppendThread(num_tracks, "stalls", 1);
  }

  void AppendThread(int32_t track, const std::string& name, int32_t place) {
    Append(Metadata("thread_name", ThreadOf(track), {{"name", name}}));
    Append(Metadata("thread_sort_index", ThreadOf(track),
                    {{"sort_index", place}}));
  }

  void AddArrows() {
    for (const Flow& flow : timeline_.flows) {
      const int64_t id = ++num_flows_;
      for (size_t i = 0; i < flow.spans.size(); ++i) {
        const char* middle = i + 1 == flow.spans.size() ? "f" : "t";
        arrows_[static_cast<size_t>(flow.spans[i])].push_back(
            {.flow = &flow, .id = id, .phase = i == 0 ? "s" : middle});
      }
    }
  }

  static int32_t ThreadOf(int32_t track) { return track + 1; }

  Json Metadata(std::string_view kind, int32_t thread, Json args) const {
    Json event = {{"ph", "M"}, {"name", kind}, {"pid", id_}};
    if (thread > 0) event["tid"] = thread;
    event["args"] = std::move(args);
    return event;
  }

  Json Slice(std::string_view name, std::string_view category, int32_t track,
             const Interval& time) const {
    return {{"ph", "X"},
            {"name", name},
            {"cat", category},
            {"pid", id_},
            {"tid", ThreadOf(track)},
            {"ts", Microseconds(time.begin)},
            {"dur", Microseconds(time.length())}};
  }

  Json SpanEvent(const Span& span) const {
    Json event = Slice(span.name, span.category, span.track,
                       {span.begin_ns, span.end_ns});
    if (span.bytes > 0) event["args"]["bytes"] = span.bytes;
    if (!span.recomputes.empty()) {
      event["args"]["recomputes"] = span.recomputes;
    }
    return event;
  }

  Json StallEvent(const TrackStall& stall) const {
    Json event = Slice(
        fmt::format("waits for {}", stall.waits_for.empty() ? "the host's call"
                                                            : stall.waits_for),
        stall.cause, static_cast<int32_t>(timeline_.tracks.size()),
        {stall.begin_ns, stall.end_ns});
    event["args"] = {{"before", stall.before}};
    return event;
  }

  Json ArrowEvent(const Arrow& arrow, const Span& span) const {
    const int64_t middle_ns = span.begin_ns + (span.end_ns - span.begin_ns) / 2;
    Json event = {{"ph", arrow.phase},
                  {"name", arrow.flow->name},
                  {"cat", "swap"},
                  {"id", arrow.id},
                  {"pid", id_},
                  {"tid", ThreadOf(span.track)},
                  {"ts", Microseconds(middle_ns)}};
    if (event["ph"] == "f") event["bp"] = "e";  // bind to the enclosing slice
    return event;
  }

  Json CounterEvent(const CounterSample& sample) const {
    return {{"ph", "C"},
            {"name", sample.counter},
            {"pid", id_},
            {"ts", Microseconds(sample.at_ns)},
            {"args", {{"value", sample.value}}}};
  }

  void Append(const Json& event) {
    out_ += out_.ends_with('[') ? "\n" : ",\n";
    out_ += event.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  const Timeline& timeline_;
  const int32_t id_;
  int64_t& num_flows_;  // of the earlier processes, whose ids are taken
  std::string& out_;
  std::vector<std::vector<Arrow>> arrows_;  // by span
};

}  // namespace

int64_t BusyNs(const Timeline& timeline, int32_t track) {
  int64_t busy_ns = 0;
  for (const Interval& interval : BusyOn(timeline, track)) {
    busy_ns += interval.length();
  }
  return busy_ns;
}

int64_t OverlapNs(const Timeline& timeline, int32_t track) {
  return IntersectionLength(BusyOn(timeline, track),
                            BusyElsewhere(timeline, track));
}

int64_t TotalNs(const Timeline& timeline) {
  if (timeline.spans.empty()) return 0;
  const auto first =
      std::ranges::min_element(timeline.spans, {}, &Span::begin_ns);
  const auto last = std::ranges::max_element(timeline.spans, {}, &Span::end_ns);
  return last->end_ns - first->begin_ns;
}

std::string FormatChromeTrace(const std::vector<TraceProcess>& processes) {
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  int32_t num_processes = 0;
  int64_t num_flows = 0;
  for (const TraceProcess& process : processes) {
    ProcessEvents(process, ++num_processes, num_flows, out).AppendAll();
  }
  out += "\n]}\n";
  return out;
}

absl::Status WriteChromeTrace(const std::vector<TraceProcess>& processes,
                              const std::string& path) {
  for (const TraceProcess& process : processes) {
    if (process.timeline != nullptr) continue;
    return InvalidArgument(fmt::format(
        "process \"{}\" of the trace has no timeline", process.name));
  }
  return WriteFileAtomically(path, FormatChromeTrace(processes));
}

}  // namespace spillway
