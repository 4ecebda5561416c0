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

Json Metadata(std::string_view kind, int32_t process, int32_t thread,
              Json args) {
  return {{"ph", "M"},
          {"name", kind},
          {"pid", process},
          {"tid", thread},
          {"args", std::move(args)}};
}

Json SpanEvent(const Span& span, int32_t process) {
  Json event = {{"ph", "X"},
                {"name", span.name},
                {"cat", span.category},
                {"pid", process},
                {"tid", span.track},
                {"ts", Microseconds(span.begin_ns)},
                {"dur", Microseconds(span.end_ns - span.begin_ns)}};
  if (span.bytes > 0) event["args"] = {{"bytes", span.bytes}};
  return event;
}

Json CounterEvent(const CounterSample& sample, int32_t process) {
  return {{"ph", "C"},
          {"name", sample.counter},
          {"pid", process},
          {"ts", Microseconds(sample.at_ns)},
          {"args", {{"value", sample.value}}}};
}

// Appends one event as one line, so that a trace can be read and diffed.
void AppendEvent(const Json& event, std::string& out) {
  out += out.ends_with('[') ? "\n" : ",\n";
  out += event.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void AppendProcess(const TraceProcess& process, int32_t id, std::string& out) {
  AppendEvent(Metadata("process_name", id, 0, {{"name", process.name}}), out);
  const Timeline& timeline = *process.timeline;
  for (size_t i = 0; i < timeline.tracks.size(); ++i) {
    const auto track = static_cast<int32_t>(i);
    AppendEvent(
        Metadata("thread_name", id, track, {{"name", timeline.tracks[i]}}),
        out);
    AppendEvent(
        Metadata("thread_sort_index", id, track, {{"sort_index", track}}), out);
  }
  for (const Span& span : timeline.spans) AppendEvent(SpanEvent(span, id), out);
  for (const CounterSample& sample : timeline.counters) {
    AppendEvent(CounterEvent(sample, id), out);
  }
}

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
  for (size_t i = 0; i < processes.size(); ++i) {
    AppendProcess(processes[i], static_cast<int32_t>(i), out);
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
