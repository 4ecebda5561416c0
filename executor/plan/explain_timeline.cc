#include "executor/plan/explain_timeline.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/clone_names.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

constexpr int32_t kNone = -1;

// The index of each step's span; kNone for aliases.
IdMap<StepId, int32_t> FindSpans(const ExecutionPlan& plan, const Graph& graph,
                                 const Timeline& timeline) {
  std::map<std::string_view, int32_t> by_name;
  for (size_t i = 0; i < timeline.spans.size(); ++i) {
    by_name.emplace(timeline.spans[i].name, static_cast<int32_t>(i));
  }
  IdMap<StepId, int32_t> places(plan.steps.size(), kNone);
  for (const StepId id : plan.steps.ids()) {
    if (plan.steps[id].kind == StepKind::kAlias) continue;
    const auto found = by_name.find(graph.node(plan.steps[id].node).name);
    if (found != by_name.end()) places[id] = found->second;
  }
  return places;
}

// Follows swapped tensors through the steps in order.
class FlowFinder {
 public:
  FlowFinder(const ExecutionPlan& plan, const Graph& graph,
             const IdMap<StepId, int32_t>& span_of)
      : plan_(plan),
        graph_(graph),
        span_of_(span_of),
        swap_out_of_(plan.buffers.size()),
        back_by_(graph.num_values(), kNone) {}

  std::vector<Flow> Run() {
    for (const StepId id : plan_.steps.ids()) {
      switch (plan_.steps[id].kind) {
        case StepKind::kSwapOut:
          swap_out_of_[plan_.steps[id].outputs[0]] = id;
          break;
        case StepKind::kSwapIn:
          Begin(id, swap_out_of_[plan_.steps[id].inputs[0]]);
          break;
        case StepKind::kAlias:
          PassOn(id);
          break;
        case StepKind::kCompute:
          Reach(id);
          break;
        case StepKind::kFeed:
          if (NodeOf(id).op == kSwapIn) Begin(id, StepId());
          break;
      }
    }
    std::vector<Flow> flows = std::move(first_);
    for (Flow& flow : others_) flows.push_back(std::move(flow));
    std::erase_if(flows,
                  [](const Flow& flow) { return flow.spans.size() < 2; });
    return flows;
  }

 private:
  const Node& NodeOf(StepId id) const {
    return graph_.node(plan_.steps[id].node);
  }

  // swap_out is invalid where the tensor is fed again.
  void Begin(StepId swap_in, StepId swap_out) {
    const Step& step = plan_.steps[swap_in];
    const BufferId tensor =
        swap_out.is_valid() ? plan_.steps[swap_out].inputs[0] : step.outputs[0];
    Flow flow = {.name = plan_.buffers[tensor].name};
    if (swap_out.is_valid()) Add(swap_out, flow);
    Add(swap_in, flow);
    for (const ValueId value : NodeOf(swap_in).outputs) {
      back_by_[value] = static_cast<int32_t>(first_.size());
    }
    first_.push_back(std::move(flow));
    swap_in_.push_back(swap_in);
    has_reader_.push_back(false);
  }

  // An alias has the value of its input.
  void PassOn(StepId alias) {
    const Node& node = NodeOf(alias);
    if (node.inputs.empty()) return;
    for (const ValueId value : node.outputs) {
      back_by_[value] = back_by_[node.inputs[0]];
    }
  }

  void Reach(StepId reader) {
    std::vector<int32_t> reached;
    for (const ValueId value : NodeOf(reader).inputs) {
      if (back_by_[value] != kNone) reached.push_back(back_by_[value]);
    }
    std::ranges::sort(reached);
    reached.erase(std::unique(reached.begin(), reached.end()), reached.end());
    for (const int32_t place : reached) {
      const auto i = static_cast<size_t>(place);
      if (!has_reader_[i]) {
        Add(reader, first_[i]);
        has_reader_[i] = true;
        continue;
      }
      Flow& other = others_.emplace_back(Flow{.name = first_[i].name});
      Add(swap_in_[i], other);
      Add(reader, other);
    }
  }

  void Add(StepId step, Flow& flow) const {
    if (span_of_[step] != kNone) flow.spans.push_back(span_of_[step]);
  }

  const ExecutionPlan& plan_;
  const Graph& graph_;
  const IdMap<StepId, int32_t>& span_of_;
  IdMap<BufferId, StepId> swap_out_of_;  // by host buffer
  IdMap<ValueId, int32_t> back_by_;      // indices in the three below
  std::vector<Flow> first_;              // by swap-in
  std::vector<StepId> swap_in_;
  std::vector<bool> has_reader_;
  std::vector<Flow> others_;  // to the readers after the first
};

class StallFinder {
 public:
  StallFinder(const ExecutionPlan& plan, const Graph& graph,
              const IdMap<StepId, int32_t>& span_of, const Timeline& timeline)
      : plan_(plan), graph_(graph), span_of_(span_of), timeline_(timeline) {}

  std::vector<TrackStall> Run() {
    for (const StepId id : plan_.steps.ids()) {
      const Step& step = plan_.steps[id];
      if (step.lane != Lane::kCompute) continue;
      const Span* awaited = LastAwaited(step);
      if (awaited != nullptr) {
        AddUntil(awaited->end_ns, id, awaited->name,
                 timeline_.tracks[static_cast<size_t>(awaited->track)]);
      }
      if (span_of_[id] == kNone) continue;
      const Span& span = SpanOf(id);
      EndBefore(span.begin_ns);
      AddUntil(span.begin_ns, id, "", "host");
      free_ns_ = std::max(free_ns_, span.end_ns);
    }
    return std::move(stalls_);
  }

 private:
  const Span& SpanOf(StepId id) const {
    return timeline_.spans[static_cast<size_t>(span_of_[id])];
  }

  // Ties go to the last span; null: waits for nothing.
  const Span* LastAwaited(const Step& step) const {
    const Span* last = nullptr;
    for (const StepId wait : step.waits) {
      if (span_of_[wait] == kNone) continue;
      const Span& span = SpanOf(wait);
      if (last == nullptr || span.end_ns >= last->end_ns) last = &span;
    }
    return last;
  }

  void AddUntil(int64_t end_ns, StepId before, std::string_view waits_for,
                std::string_view cause) {
    if (end_ns <= free_ns_) return;
    stalls_.push_back({.waits_for = std::string(waits_for),
                       .cause = std::string(cause),
                       .before = graph_.node(plan_.steps[before].node).name,
                       .begin_ns = free_ns_,
                       .end_ns = end_ns});
    free_ns_ = end_ns;
  }

  // Measured times of two streams may disagree by nanoseconds: a copy may seem
  // to end after the work that waited for it has begun.
  void EndBefore(int64_t begin_ns) {
    while (!stalls_.empty() && stalls_.back().end_ns > begin_ns) {
      stalls_.back().end_ns = begin_ns;
      if (stalls_.back().begin_ns < begin_ns) return;
      stalls_.pop_back();
    }
  }

  const ExecutionPlan& plan_;
  const Graph& graph_;
  const IdMap<StepId, int32_t>& span_of_;
  const Timeline& timeline_;
  int64_t free_ns_ = 0;  // the compute lane is idle from here on
  std::vector<TrackStall> stalls_;
};

// Names the originals of clones (OriginalsByName).
void NameOriginals(const ExecutionPlan& plan, const Graph& graph,
                   const IdMap<StepId, int32_t>& span_of, Timeline& timeline) {
  const IdMap<NodeId, NodeId> originals = OriginalsByName(graph);
  if (originals.empty()) return;
  for (const StepId id : plan.steps.ids()) {
    const NodeId original = originals[plan.steps[id].node];
    if (span_of[id] == kNone || !original.is_valid()) continue;
    timeline.spans[static_cast<size_t>(span_of[id])].recomputes =
        graph.node(original).name;
  }
}

}  // namespace

void ExplainTimeline(const ExecutionPlan& plan, const Graph& graph,
                     Timeline& timeline) {
  const IdMap<StepId, int32_t> span_of = FindSpans(plan, graph, timeline);
  NameOriginals(plan, graph, span_of, timeline);
  timeline.flows = FlowFinder(plan, graph, span_of).Run();
  timeline.stalls = StallFinder(plan, graph, span_of, timeline).Run();
}

}  // namespace spillway
