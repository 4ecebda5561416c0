#include "tools/spillway/output/memory_report.h"

#include <algorithm>
#include <vector>

#include "base/counted.h"
#include "base/units.h"
#include "executor/plan/memory_profile.h"
#include "fmt/format.h"

namespace spillway {
namespace {

std::string_view KindName(BufferKind kind) {
  switch (kind) {
    case BufferKind::kVariable:
      return "variable";
    case BufferKind::kConstant:
      return "constant";
    case BufferKind::kTransient:
      return "tensor";
    case BufferKind::kWorkspace:
      return "workspace";
  }
  return "tensor";
}

Interval LifeOf(const ExecutionPlan& plan, const Buffer& buffer) {
  if (!IsResident(buffer)) return buffer.live;
  return {0, static_cast<int64_t>(plan.steps.size())};
}

// The curve as bars. A column covers one or more steps and is as high as the
// most bytes that are live at one of them.
std::string FormatCurve(const MemoryProfile& profile) {
  constexpr size_t kColumns = 72;
  constexpr int64_t kRows = 10;
  const size_t steps = profile.live_bytes.size();
  const size_t columns = std::min(kColumns, steps);
  std::vector<int64_t> most(columns, 0);
  for (const StepId step : profile.live_bytes.ids()) {
    int64_t& column = most[step.index() * columns / steps];
    column = std::max(column, profile.live_bytes[step]);
  }
  std::string text;
  for (int64_t row = kRows; row > 0; --row) {
    text +=
        fmt::format("{:>10} |", FormatBytes(profile.peak_bytes / kRows * row));
    for (const int64_t bytes : most) {
      const bool reaches = bytes * kRows > profile.peak_bytes * (row - 1);
      text += reaches ? '#' : ' ';
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text + fmt::format("{:>10} +{:-<{}}\n{:>12}step 0 to {}\n", 0, "",
                            columns, "", steps - 1);
}

std::string FormatSpace(const ExecutionPlan& plan, const Graph& graph,
                        Space space, int64_t rows) {
  const MemoryProfile profile = ProfileMemory(plan, graph, space);
  const bool on_device = space == Space::kDevice;
  const int64_t bytes = on_device ? plan.device_bytes : plan.host_bytes;
  std::string text =
      fmt::format("{} memory, {} ({} bytes)\n", on_device ? "device" : "host",
                  FormatBytes(bytes), bytes);
  if (!profile.peak.is_valid()) return text;
  text += FormatCurve(profile);
  text += fmt::format(
      "peak {} at step {}, {}: {}\n"
      "{:>12} {:>7} {:>7}  buffer\n",
      FormatBytes(profile.peak_bytes), profile.peak.value(),
      graph.node(plan.steps[profile.peak].node).name,
      Counted(profile.at_peak.size(), "buffer"), "bytes", "from", "to");
  int64_t left = rows;
  int64_t rest_bytes = 0;
  for (const LiveBuffer& live : profile.at_peak) {
    const Buffer& buffer = plan.buffers[live.buffer];
    if (left-- <= 0) {
      rest_bytes += buffer.bytes;
      continue;
    }
    const Interval life = LifeOf(plan, buffer);
    text +=
        fmt::format("{:>12} {:>7} {:>7}  {}: {}\n", FormatBytes(buffer.bytes),
                    life.begin, life.end, buffer.name, live.reason);
  }
  if (rest_bytes > 0) {
    text += fmt::format("{:>12} {:>7} {:>7}  in {}\n", FormatBytes(rest_bytes),
                        "", "", Counted(-left, "smaller one"));
  }
  return text;
}

Json SpaceJson(const ExecutionPlan& plan, const Graph& graph, Space space) {
  const MemoryProfile profile = ProfileMemory(plan, graph, space);
  Json at_peak = Json::array();
  for (const LiveBuffer& live : profile.at_peak) {
    const Buffer& buffer = plan.buffers[live.buffer];
    const Interval life = LifeOf(plan, buffer);
    at_peak.push_back({{"buffer", buffer.name},
                       {"kind", KindName(buffer.kind)},
                       {"bytes", buffer.bytes},
                       {"from", life.begin},
                       {"to", life.end},
                       {"reason", live.reason}});
  }
  Json json = {
      {"bytes", space == Space::kDevice ? plan.device_bytes : plan.host_bytes},
      {"peak_step", nullptr},
      {"peak_node", nullptr},
      {"peak_bytes", profile.peak_bytes},
      {"at_peak", std::move(at_peak)},
      {"curve", Json::array()}};
  if (profile.peak.is_valid()) {
    json["peak_step"] = profile.peak.value();
    json["peak_node"] = graph.node(plan.steps[profile.peak].node).name;
  }
  for (const int64_t bytes : profile.live_bytes) json["curve"].push_back(bytes);
  return json;
}

}  // namespace

std::string FormatMemory(const ExecutionPlan& plan, const Graph& graph,
                         int64_t rows) {
  std::string text = FormatSpace(plan, graph, Space::kDevice, rows);
  if (plan.host_bytes > 0) {
    text += '\n' + FormatSpace(plan, graph, Space::kHost, rows);
  }
  return text;
}

Json MemoryJson(const ExecutionPlan& plan, const Graph& graph) {
  Json json = {{"device", SpaceJson(plan, graph, Space::kDevice)},
               {"host", nullptr},
               {"steps", Json::array()}};
  if (plan.host_bytes > 0) json["host"] = SpaceJson(plan, graph, Space::kHost);
  for (const Step& step : plan.steps) {
    json["steps"].push_back(graph.node(step.node).name);
  }
  return json;
}

}  // namespace spillway
