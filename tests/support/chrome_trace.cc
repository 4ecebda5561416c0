#include "tests/support/chrome_trace.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "fmt/format.h"

namespace spillway::testing {
namespace {

using Json = nlohmann::ordered_json;
using Thread = std::pair<int64_t, int64_t>;  // process, thread

int64_t Nanoseconds(const Json& microseconds) {
  return std::llround(microseconds.get<double>() * 1e3);
}

class Reader {
 public:
  ReadTrace Read(const std::string& text) {
    const Json trace = Json::parse(text, nullptr, false);
    if (!trace.is_object() || !trace["traceEvents"].is_array()) {
      Fault("no trace", Json());
      return std::move(read_);
    }
    std::vector<Json> timed;
    for (const Json& event : trace["traceEvents"]) {
      if (IsComplete(event) && event["ph"] != "M") timed.push_back(event);
    }
    std::ranges::stable_sort(
        timed, {}, [](const Json& event) { return Nanoseconds(event["ts"]); });
    for (const Json& event : timed) {
      const std::string phase = event["ph"];
      if (phase == "X") AddSlice(event);
      if (phase == "s" || phase == "t" || phase == "f") AddArrow(event, phase);
    }
    for (const auto& [flow, slice] : open_) {
      Fault("a flow does not end", std::get<2>(flow));
    }
    return std::move(read_);
  }

 private:
  using Flow = std::tuple<int64_t, std::string, std::string>;

  void Fault(const char* what, const Json& where) {
    read_.faults.push_back(fmt::format("{}: {}", what, where.dump()));
  }

  static std::vector<const char*> FieldsOf(const std::string& phase) {
    if (phase == "M") return {"name", "pid", "args"};
    if (phase == "C") return {"name", "pid", "ts", "args"};
    if (phase == "X") return {"name", "cat", "pid", "tid", "ts", "dur"};
    if (phase == "s" || phase == "t" || phase == "f") {
      return {"name", "cat", "id", "pid", "tid", "ts"};
    }
    return {};
  }

  // Notes names; false: nothing else of the event is read.
  bool IsComplete(const Json& event) {
    const std::vector<const char*> fields = FieldsOf(event.value("ph", ""));
    if (fields.empty()) Fault("an unknown phase", event);
    for (const char* field : fields) {
      if (event.contains(field)) continue;
      Fault("a field is missing", event);
      return false;
    }
    for (const char* id : {"pid", "tid"}) {
      if (event.contains(id) && event[id] < 1) Fault("an id below 1", event);
    }
    for (const char* time : {"ts", "dur"}) {
      if (event.contains(time) && event[time] < 0) Fault("before 0", event);
    }
    if (event["ph"] == "M") AddName(event);
    return !fields.empty();
  }

  void AddName(const Json& event) {
    if (event["name"] == "process_name") {
      read_.processes[event["pid"]] = event["args"]["name"];
    } else if (event["name"] == "thread_name") {
      threads_[{event["pid"], event["tid"]}] = event["args"]["name"];
    }
  }

  void AddSlice(const Json& event) {
    const Thread thread = {event["pid"], event["tid"]};
    if (!threads_.contains(thread)) Fault("a thread has no name", event);
    if (!read_.processes.contains(thread.first)) {
      Fault("a process has no name", event);
    }
    TraceSlice slice = {.process = thread.first,
                        .thread = threads_[thread],
                        .name = event["name"],
                        .category = event["cat"],
                        .begin_ns = Nanoseconds(event["ts"]),
                        .args = event.value("args", Json::object())};
    slice.end_ns = slice.begin_ns + Nanoseconds(event["dur"]);
    const auto top = top_.find(thread);
    if (top != top_.end() && SliceAt(top->second).end_ns > slice.begin_ns) {
      Fault("begins before the slice in front of it ends", event);
    }
    top_[thread] = read_.slices.size();
    read_.slices.push_back(std::move(slice));
  }

  const TraceSlice& SliceAt(size_t place) const { return read_.slices[place]; }

  void AddArrow(const Json& event, const std::string& phase) {
    const int64_t ns = Nanoseconds(event["ts"]);
    const auto top = top_.find({event["pid"], event["tid"]});
    if (top == top_.end() || !Holds(SliceAt(top->second), ns)) {
      return Fault("an arrow is outside of every slice", event);
    }
    const Flow flow = {event["id"], event["cat"], event["name"]};
    if (phase == "s") {
      if (open_.contains(flow) || ended_.contains(flow)) {
        Fault("a flow begins twice", event);
      }
      open_[flow] = top->second;
      return;
    }
    if (!open_.contains(flow)) return Fault("a flow has no begin", event);
    read_.arrows.push_back({.flow = event["name"],
                            .from = SliceAt(open_[flow]),
                            .to = SliceAt(top->second)});
    open_[flow] = top->second;
    if (phase == "t") return;
    if (event.value("bp", "") != "e") Fault("ends at the next slice", event);
    open_.erase(flow);
    ended_.insert(flow);
  }

  static bool Holds(const TraceSlice& slice, int64_t ns) {
    return slice.begin_ns == ns || (slice.begin_ns < ns && ns < slice.end_ns);
  }

  ReadTrace read_;
  std::map<Thread, std::string> threads_;
  std::map<Thread, size_t> top_;  // the last slice that began
  std::map<Flow, size_t> open_;   // the slice that each has reached
  std::set<Flow> ended_;
};

}  // namespace

ReadTrace ReadChromeTrace(const std::string& text) {
  return Reader().Read(text);
}

}  // namespace spillway::testing
