#include "simulator/report/report_data.h"

#include <optional>
#include <utility>
#include <vector>

#include "simulator/memory_over_time.h"
#include "simulator/tensor_fates.h"

namespace spillway {
namespace {

// The order of `kinds` in page/report.js.
enum class PageKind : uint8_t {
  kVariable,
  kConstant,
  kTensor,
  kCopiedBack,
  kScratch,
  kMoving,  // set by the page
  kComputedAgain,
};

// Of a buffer: the steps that use it, in order.
struct Users {
  std::vector<int32_t> steps = {};
  bool copied_back = false;
  bool computed_again = false;
  BufferId tensor = {};  // whose copy it is, or itself
};

PageKind KindOf(const Buffer& buffer, const Users& users) {
  switch (buffer.kind) {
    case BufferKind::kVariable:
      return PageKind::kVariable;
    case BufferKind::kConstant:
      return PageKind::kConstant;
    case BufferKind::kWorkspace:
      return PageKind::kScratch;
    case BufferKind::kTransient:
      break;
  }
  if (users.copied_back) return PageKind::kCopiedBack;
  return users.computed_again ? PageKind::kComputedAgain : PageKind::kTensor;
}

IdMap<BufferId, Users> FindUsers(const HtmlReport& report) {
  const ExecutionPlan& plan = *report.plan;
  IdMap<BufferId, Users> users(plan.buffers.size());
  const IdMap<BufferId, BufferId> originals =
      OriginalBuffers(plan, report.original_of);
  for (const BufferId id : plan.buffers.ids()) {
    users[id].computed_again = originals[id].is_valid();
    users[id].tensor = originals[id].is_valid() ? originals[id] : id;
  }
  const auto add = [&](BufferId buffer, int32_t at) {
    std::vector<int32_t>& steps = users[buffer].steps;
    if (steps.empty() || steps.back() != at) steps.push_back(at);
  };
  for (const StepId id : plan.steps.ids()) {
    const Step& step = plan.steps[id];
    for (const BufferId input : step.inputs) add(input, id.value());
    for (const BufferId output : step.outputs) {
      add(output, id.value());
      if (step.kind == StepKind::kSwapIn) users[output].copied_back = true;
    }
    if (step.kind == StepKind::kSwapOut || step.kind == StepKind::kSwapIn) {
      users[step.outputs[0]].tensor = users[step.inputs[0]].tensor;
    }
    if (step.kind == StepKind::kFeed) {
      users[step.outputs[0]].tensor = plan.buffer_of[step.feed];
      users[step.outputs[0]].copied_back = IsFedAgain(plan, step);
    }
    if (step.workspace.is_valid()) add(step.workspace, id.value());
  }
  return users;
}

Json BuffersJson(const HtmlReport& report,
                 const IdMap<BufferId, Interval>& owned) {
  const ExecutionPlan& plan = *report.plan;
  const IdMap<BufferId, Users> users = FindUsers(report);
  Json rows = Json::array();
  for (const BufferId id : plan.buffers.ids()) {
    const Buffer& buffer = plan.buffers[id];
    const PageKind kind = KindOf(buffer, users[id]);
    rows.push_back({buffer.name, static_cast<int>(kind),
                    buffer.space == Space::kHost ? 1 : 0, buffer.bytes,
                    owned[id].begin, owned[id].end, users[id].tensor.value(),
                    users[id].steps});
  }
  return rows;
}

Json StepsJson(const HtmlReport& report) {
  const ExecutionPlan& plan = *report.plan;
  Json rows = Json::array();
  for (const StepId id : plan.steps.ids()) {
    const Step& step = plan.steps[id];
    const Node& node = report.graph->node(step.node);
    const Interval& ran = report.predicted->ran[id];
    const int64_t bytes =
        IsCopy(step.kind) ? plan.buffers[step.outputs[0]].bytes : 0;
    rows.push_back({static_cast<int>(step.lane), node.name, node.op, ran.begin,
                    ran.end, bytes});
  }
  return rows;
}

// The steps of clones.
Json ClonesJson(const HtmlReport& report) {
  Json rows = Json::array();
  if (report.original_of.empty()) return rows;
  const ExecutionPlan& plan = *report.plan;
  for (const StepId id : plan.steps.ids()) {
    const Step& step = plan.steps[id];
    if (step.lane != Lane::kCompute) continue;
    for (const ValueId output : report.graph->node(step.node).outputs) {
      const ValueId original = report.original_of[output];
      if (!original.is_valid()) continue;
      rows.push_back({id.value(), report.graph->producer(original).name});
      break;
    }
  }
  return rows;
}

Json StallsJson(const SimulatedStep& step) {
  Json rows = Json::array();
  for (const Stall& stall : step.stalls) {
    rows.push_back({stall.step.value(), static_cast<int>(stall.cause),
                    stall.copy.value(), stall.ns});
  }
  return rows;
}

Json SpaceJson(const HtmlReport& report, const IdMap<BufferId, Interval>& owned,
               Space space) {
  const bool on_device = space == Space::kDevice;
  const ExecutionPlan& plan = *report.plan;
  const auto& budget = on_device ? report.device_budget : report.host_budget;
  const CounterSample peak = PeakOf(MemoryOverTime(plan, owned, space));
  return {{"arena_bytes", on_device ? plan.device_bytes : plan.host_bytes},
          {"budget", budget ? Json(*budget) : Json()},
          {"resident_bytes", ResidentBytes(plan, space)},
          {"peak_bytes", peak.value},
          {"peak_ns", peak.at_ns}};
}

Json NsOrNull(const std::optional<int64_t>& ns) {
  return ns ? Json(*ns) : Json();
}

// By buffer of a tensor; null for those without. Of several tensors that are
// computed in place of each other: that of the buffer's name, or else the first
// of `report.changes`.
IdMap<BufferId, Json> ChangesJson(const HtmlReport& report) {
  const ExecutionPlan& plan = *report.plan;
  IdMap<BufferId, Json> changes(plan.buffers.size());
  for (const FateChanges& of : report.changes) {
    const absl::StatusOr<ValueId> value = report.graph->FindValue(of.tensor);
    if (!value.ok()) continue;
    const BufferId buffer = plan.buffer_of[*value];
    if (!buffer.is_valid()) continue;
    const bool is_first_there = plan.buffers[buffer].name == of.tensor;
    if (!changes[buffer].is_null() && !is_first_there) continue;
    changes[buffer] =
        Json::array({NsOrNull(of.if_kept_ns), NsOrNull(of.if_swapped_ns),
                     NsOrNull(of.if_recomputed_ns)});
  }
  return changes;
}

Json TensorsJson(const HtmlReport& report) {
  const IdMap<BufferId, Json> changes = ChangesJson(report);
  Json rows = Json::array();
  for (const TensorFate& fate : FindTensorFates(*report.plan, *report.predicted,
                                                0, report.original_of)) {
    Json away = Json::array();
    for (const Interval& time : fate.away) {
      away.push_back({time.begin, time.end});
    }
    rows.push_back(
        {fate.buffer.value(), fate.bytes, fate.moves ? 1 : 0, fate.life.begin,
         fate.life.end, std::move(away), fate.copy_out_ns, fate.copy_in_ns,
         fate.stall_ns, fate.freed_byte_seconds, fate.at_peak ? 1 : 0,
         fate.recomputed ? 1 : 0, fate.recompute_ns, changes[fate.buffer]});
  }
  return rows;
}

Json MeasuredJson(const MeasuredStep& measured) {
  Json spans = Json::array();
  for (const Span& span : measured.timeline->spans) {
    spans.push_back({span.track, span.name, span.category, span.begin_ns,
                     span.end_ns, span.bytes});
  }
  return {{"step_ns", measured.step_ns},
          {"device_bytes", measured.device_bytes},
          {"host_bytes", measured.host_bytes},
          {"steps", std::move(spans)}};
}

Json TriedJson(const HtmlReport& report) {
  Json rows = Json::array();
  for (const TriedOptions& tried : report.tried) {
    rows.push_back({tried.label, tried.fits ? 1 : 0, tried.device_bytes,
                    tried.host_bytes, NsOrNull(tried.step_ns), tried.note});
  }
  return rows;
}

Json FrontierJson(const HtmlReport& report) {
  Json rows = Json::array();
  for (const FrontierDot& dot : report.frontier) {
    rows.push_back({dot.budget_bytes, dot.step_ns, dot.bound_ns,
                    dot.device_bytes, dot.name});
  }
  return rows;
}

Json PoliciesJson(const HtmlReport& report) {
  Json rows = Json::array();
  for (const PolicyDot& dot : report.policies) {
    rows.push_back({dot.name, dot.device_bytes, dot.step_ns});
  }
  return rows;
}

}  // namespace

Json ReportData(const HtmlReport& report) {
  const ExecutionPlan& plan = *report.plan;
  const SimulatedStep& step = *report.predicted;
  const IdMap<BufferId, Interval> owned = OwnedTimes(plan, step);
  Json facts = Json::array();
  for (const ReportFact& fact : report.facts) {
    facts.push_back(Json::array({fact.label, fact.value}));
  }
  Json data = {{"facts", std::move(facts)},
               {"batch_size", report.batch_size},
               {"step_ns", step.step_ns},
               {"lane_names", step.timeline.tracks},
               {"stall_ns", step.stall_ns},
               {"steps", StepsJson(report)},
               {"clones", ClonesJson(report)},
               {"stalls", StallsJson(step)},
               {"device", SpaceJson(report, owned, Space::kDevice)},
               {"host", SpaceJson(report, owned, Space::kHost)},
               {"buffers", BuffersJson(report, owned)},
               {"tensors", TensorsJson(report)},
               {"bound", nullptr},
               {"measured", nullptr},
               {"tried", TriedJson(report)},
               {"chosen", nullptr},
               {"frontier", FrontierJson(report)},
               {"frontier_interrupted", report.frontier_interrupted},
               {"policies", PoliciesJson(report)},
               {"has_changes", !report.changes.empty()}};
  if (report.bound) {
    data["bound"] = {report.bound->step_ns, report.bound->reason};
  }
  if (report.measured) data["measured"] = MeasuredJson(*report.measured);
  if (report.chosen) data["chosen"] = *report.chosen;
  return data;
}

}  // namespace spillway
