#include "simulator/simulator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.h"

namespace spillway {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr auto kCompute = static_cast<size_t>(Lane::kCompute);
constexpr auto kCopyOut = static_cast<size_t>(Lane::kCopyOut);
constexpr auto kCopyIn = static_cast<size_t>(Lane::kCopyIn);

// One lane: its steps, and what it is doing.
struct LaneState {
  std::vector<StepId> steps = {};
  size_t next = 0;  // of `steps`: the one that runs, or the first to come
  bool is_running = false;
  int64_t begin_ns = 0;
  int64_t free_ns = 0;  // end of the last step
  // Of the step that runs: time to pass first, then bytes to copy.
  int64_t fixed_ns = 0;
  double bytes = 0;
};

class Simulation {
 public:
  Simulation(const ExecutionPlan& plan, const Graph& graph,
             const IdMap<NodeId, int64_t>& kernel_ns,
             const DeviceProfile& profile)
      : plan_(plan),
        graph_(graph),
        kernel_ns_(kernel_ns),
        profile_(profile),
        end_ns_(plan.steps.size(), kNever) {
    for (int lane = 0; lane < kNumLanes; ++lane) {
      result_.timeline.tracks.emplace_back(LaneName(static_cast<Lane>(lane)));
    }
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      lanes_[static_cast<size_t>(plan.steps[StepId(i)].lane)].steps.push_back(
          StepId(i));
    }
    result_.ran.resize(plan.steps.size());
    result_.charged_ns.resize(plan.steps.size());
  }

  SimulatedStep Run() {
    for (size_t left = plan_.steps.size(); left > 0;) {
      while (StartReady()) {
      }
      const int64_t next = NextEvent();
      CHECK(next != kNever);  // a wait that nothing ends
      Advance(next - now_);
      now_ = next;
      left -= FinishDone();
    }
    result_.step_ns = now_;
    return std::move(result_);
  }

 private:
  const Step& step(StepId id) const { return plan_.steps[id]; }

  int64_t IssuedNs(StepId id) const {
    return (id.value() + 1) * profile_.issue_ns;
  }

  // When the last of the steps it waits for ended; kNever: not yet.
  int64_t WaitedNs(StepId id) const {
    int64_t end = 0;
    for (const StepId wait : step(id).waits) end = std::max(end, end_ns_[wait]);
    return end;
  }

  bool StartReady() {
    bool has_started = false;
    for (LaneState& lane : lanes_) {
      if (lane.is_running || lane.next == lane.steps.size()) continue;
      const StepId id = lane.steps[lane.next];
      if (WaitedNs(id) > now_ || IssuedNs(id) > now_) continue;
      Start(id, lane);
      has_started = true;
    }
    return has_started;
  }

  void Start(StepId id, LaneState& lane) {
    lane.is_running = true;
    lane.begin_ns = now_;
    lane.fixed_ns = 0;
    lane.bytes = 0;
    if (step(id).kind == StepKind::kCompute) {
      lane.fixed_ns = kernel_ns_[step(id).node];
    } else if (step(id).kind != StepKind::kAlias) {
      lane.fixed_ns = Direction(lane).latency_ns;
      lane.bytes =
          static_cast<double>(plan_.buffers[step(id).outputs[0]].bytes);
    }
    if (&lane == &lanes_[kCompute]) CountStall(id, lane);
  }

  // Between the end of the step before and now, for whatever came last.
  void CountStall(StepId id, const LaneState& lane) {
    Stall stall = {.step = id, .ns = now_ - lane.free_ns};
    if (stall.ns == 0) return;
    for (const StepId wait : step(id).waits) {
      if (end_ns_[wait] != now_) continue;
      stall.copy = wait;
      stall.cause = step(wait).lane == Lane::kCopyIn ? StallCause::kCopyIn
                                                     : StallCause::kCopyOut;
    }
    if (stall.copy.is_valid()) result_.charged_ns[stall.copy] += stall.ns;
    result_.stall_ns[static_cast<size_t>(stall.cause)] += stall.ns;
    result_.stalls.push_back(stall);
  }

  const LinkDirection& Direction(const LaneState& lane) const {
    return &lane == &lanes_[kCopyOut] ? profile_.to_host : profile_.to_device;
  }

  // Bytes a nanosecond.
  double Rate(const LaneState& lane) const {
    const bool is_shared =
        lanes_[kCopyOut].is_running && lanes_[kCopyIn].is_running;
    const LinkDirection& direction = Direction(lane);
    return (is_shared ? direction.shared_bytes_per_second
                      : direction.bytes_per_second) *
           1e-9;
  }

  int64_t LeftNs(const LaneState& lane) const {
    if (lane.bytes <= 0) return lane.fixed_ns;
    return lane.fixed_ns +
           static_cast<int64_t>(std::ceil(lane.bytes / Rate(lane)));
  }

  int64_t NextEvent() const {
    int64_t next = kNever;
    for (const LaneState& lane : lanes_) {
      if (lane.is_running) {
        next = std::min(next, now_ + LeftNs(lane));
      } else if (lane.next < lane.steps.size()) {
        const StepId id = lane.steps[lane.next];
        if (WaitedNs(id) <= now_) next = std::min(next, IssuedNs(id));
      }
    }
    return next;
  }

  void Advance(int64_t elapsed_ns) {
    std::array<double, kNumLanes> rates = {};  // as they are until the event
    for (size_t i = 0; i < lanes_.size(); ++i) rates[i] = Rate(lanes_[i]);
    for (size_t i = 0; i < lanes_.size(); ++i) {
      LaneState& lane = lanes_[i];
      if (!lane.is_running) continue;
      const int64_t fixed = std::min(elapsed_ns, lane.fixed_ns);
      lane.fixed_ns -= fixed;
      lane.bytes -= static_cast<double>(elapsed_ns - fixed) * rates[i];
    }
  }

  // The number of steps that end now.
  size_t FinishDone() {
    size_t done = 0;
    for (size_t i = 0; i < lanes_.size(); ++i) {
      LaneState& lane = lanes_[i];
      constexpr double kRounding = 1e-6;  // of a byte
      if (!lane.is_running || lane.fixed_ns > 0 || lane.bytes > kRounding) {
        continue;
      }
      Finish(lane, static_cast<int32_t>(i));
      ++done;
    }
    return done;
  }

  void Finish(LaneState& lane, int32_t track) {
    const StepId id = lane.steps[lane.next++];
    lane.is_running = false;
    lane.free_ns = now_;
    end_ns_[id] = now_;
    result_.ran[id] = {lane.begin_ns, now_};
    if (step(id).kind == StepKind::kAlias) return;
    const Node& node = graph_.node(step(id).node);
    const bool copies = step(id).kind != StepKind::kCompute;
    result_.busy_ns[static_cast<size_t>(track)] += now_ - lane.begin_ns;
    result_.timeline.spans.push_back(
        {.track = track,
         .name = node.name,
         .category = node.op,
         .begin_ns = lane.begin_ns,
         .end_ns = now_,
         .bytes = copies ? plan_.buffers[step(id).outputs[0]].bytes : 0});
  }

  const ExecutionPlan& plan_;
  const Graph& graph_;
  const IdMap<NodeId, int64_t>& kernel_ns_;
  const DeviceProfile& profile_;
  std::array<LaneState, kNumLanes> lanes_;
  IdMap<StepId, int64_t> end_ns_;  // kNever: has not ended
  int64_t now_ = 0;
  SimulatedStep result_;
};

}  // namespace

SimulatedStep SimulateStep(const ExecutionPlan& plan, const Graph& graph,
                           const IdMap<NodeId, int64_t>& kernel_ns,
                           const DeviceProfile& profile) {
  return Simulation(plan, graph, kernel_ns, profile).Run();
}

}  // namespace spillway
