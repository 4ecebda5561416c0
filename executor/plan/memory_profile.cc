#include "executor/plan/memory_profile.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/units.h"
#include "fmt/format.h"

namespace spillway {
namespace {

class Profiler {
 public:
  Profiler(const ExecutionPlan& plan, const Graph& graph, Space space)
      : plan_(plan), graph_(graph), space_(space) {}

  MemoryProfile Run() {
    SumLiveBytes();
    if (profile_.peak.is_valid()) ListPeak();
    return std::move(profile_);
  }

 private:
  bool InSpace(const Buffer& buffer) const {
    return buffer.space == space_ &&
           (IsResident(buffer) || !buffer.live.empty());
  }

  bool LivesAt(const Buffer& buffer, StepId step) const {
    return IsResident(buffer) || buffer.live.contains(step.value());
  }

  static int64_t Bytes(const Buffer& buffer) {
    return AlignUp(buffer.bytes, kBufferAlignment);
  }

  void SumLiveBytes() {
    // Residents of other programs count as well: they share the arena.
    int64_t live = ResidentBytes(plan_, space_);
    std::vector<int64_t> change(plan_.steps.size() + 1, 0);
    for (const Buffer& buffer : plan_.buffers) {
      if (!InSpace(buffer) || IsResident(buffer)) continue;
      change[static_cast<size_t>(buffer.live.begin)] += Bytes(buffer);
      change[static_cast<size_t>(buffer.live.end)] -= Bytes(buffer);
    }
    for (size_t at = 0; at < plan_.steps.size(); ++at) {
      live += change[at];
      const StepId step = profile_.live_bytes.push_back(live);
      if (!profile_.peak.is_valid() || live > profile_.peak_bytes) {
        profile_.peak = step;
        profile_.peak_bytes = live;
      }
    }
  }

  void ListPeak() {
    const std::vector<StepId> next_use = NextUses();
    for (const BufferId id : plan_.buffers.ids()) {
      const Buffer& buffer = plan_.buffers[id];
      if (!InSpace(buffer) || !LivesAt(buffer, profile_.peak)) continue;
      profile_.at_peak.push_back({id, Reason(buffer, next_use[id.index()])});
    }
    std::ranges::stable_sort(profile_.at_peak, std::ranges::greater(),
                             [&](const LiveBuffer& live) {
                               return plan_.buffers[live.buffer].bytes;
                             });
  }

  // For each buffer: the first step from the peak on that uses it.
  std::vector<StepId> NextUses() const {
    std::vector<StepId> next(plan_.buffers.size());
    for (size_t i = plan_.steps.size(); i > profile_.peak.index(); --i) {
      const Step& step = plan_.steps[StepId(i - 1)];
      for (const BufferId input : step.inputs)
        next[input.index()] = StepId(i - 1);
      for (const BufferId output : step.outputs) {
        next[output.index()] = StepId(i - 1);
      }
      if (step.workspace.is_valid()) {
        next[step.workspace.index()] = StepId(i - 1);
      }
    }
    return next;
  }

  std::string Reason(const Buffer& buffer, StepId next_use) const {
    if (buffer.kind == BufferKind::kVariable)
      return "variable: outlives a step";
    if (buffer.kind == BufferKind::kConstant)
      return "constant: outlives a step";
    if (next_use == profile_.peak) {
      return buffer.kind == BufferKind::kWorkspace
                 ? "scratch of the step at the peak"
                 : "used by the step at the peak";
    }
    if (next_use.is_valid()) {
      return fmt::format("used by {} (step {})",
                         graph_.node(plan_.steps[next_use].node).name,
                         next_use.value());
    }
    if (buffer.live.end == static_cast<int64_t>(plan_.steps.size()) &&
        IsFetched(buffer)) {
      return "fetched: kept to the end of the step";
    }
    return fmt::format("its copy is waited for at step {}", buffer.live.end);
  }

  bool IsFetched(const Buffer& buffer) const {
    return std::ranges::any_of(plan_.fetches, [&](ValueId value) {
      return &plan_.buffers[plan_.buffer_of[value]] == &buffer;
    });
  }

  const ExecutionPlan& plan_;
  const Graph& graph_;
  const Space space_;
  MemoryProfile profile_;
};

}  // namespace

MemoryProfile ProfileMemory(const ExecutionPlan& plan, const Graph& graph,
                            Space space) {
  return Profiler(plan, graph, space).Run();
}

}  // namespace spillway
