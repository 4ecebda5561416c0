#include "simulator/simulator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "simulator/network/collective_cost.h"

namespace spillway {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr auto kCompute = static_cast<size_t>(Lane::kCompute);
constexpr auto kCopyOut = static_cast<size_t>(Lane::kCopyOut);
constexpr auto kCopyIn = static_cast<size_t>(Lane::kCopyIn);
constexpr auto kCommunication = static_cast<size_t>(Lane::kCommunication);

// What a lane is doing. A staged collective has all three parts, in this order;
// any other step has one.
enum class Part : uint8_t { kToHost, kKernel, kToDevice };
constexpr size_t kNumParts = 3;

// One lane: its steps, and what it is doing.
struct LaneState {
  std::vector<StepId> steps = {};
  size_t next = 0;  // in `steps`: the running or the next step
  bool is_running = false;
  bool is_staged = false;
  Part part = Part::kKernel;
  int64_t begin_ns = 0;
  int64_t free_ns = 0;  // end of the last step
  // Of the running part: fixed time that nothing slows, then the remaining
  // work, in nanoseconds at full speed.
  int64_t fixed_ns = 0;
  double left_ns = 0;
  // Of the running copy: its speed while both directions copy, relative to its
  // speed alone; and its bytes per nanosecond alone, latency included.
  double shared_speed = 1;
  double bytes_per_ns = 0;
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
    result_.timeline.tracks = UsedLanes(plan);
    for (const StepId id : plan.steps.ids()) {
      lanes_[static_cast<size_t>(plan.steps[id].lane)].steps.push_back(id);
    }
    FindLateness();
    result_.ran.resize(plan.steps.size());
    result_.charged_ns.resize(plan.steps.size());
  }

  SimulatedStep Run() {
    for (size_t left = plan_.steps.size(); left > 0;) {
      while (StartReady()) {
      }
      const int64_t next = NextEvent();
      SPILLWAY_CHECK(next != kNever);  // else a wait never ends
      Advance(next - now_);
      now_ = next;
      left -= FinishDone();
    }
    result_.step_ns = now_ + profile_.call_ns;
    return std::move(result_);
  }

 private:
  const Step& step(StepId id) const { return plan_.steps[id]; }

  // How long the last collective waits for the last rank.
  void FindLateness() {
    const std::vector<StepId>& collectives = lanes_[kCommunication].steps;
    if (!profile_.network || collectives.empty()) return;
    double kernels_ns = 0;
    for (const StepId id : lanes_[kCompute].steps) {
      if (step(id).kind == StepKind::kAlias) continue;
      kernels_ns += static_cast<double>(kernel_ns_[step(id).node]);
    }
    last_collective_ = collectives.back();
    late_ns_ = std::llround(kernels_ns * profile_.network->jitter *
                            ExpectedLateness(profile_.network->ranks));
  }

  int64_t IssuedNs(StepId id) const {
    return (id.value() + 1) * profile_.issue_ns;
  }

  // When the last of the steps that it waits for ended; kNever: not yet.
  int64_t WaitedNs(StepId id) const {
    int64_t end = 0;
    for (const StepId wait : step(id).waits) end = std::max(end, end_ns_[wait]);
    return end;
  }

  // When its waits let it start. A lane that slept during a wait has to wake.
  int64_t ReadyNs(StepId id, const LaneState& lane) const {
    if (profile_.in_turn && !IsNext(id)) return kNever;
    const int64_t waited = WaitedNs(id);
    const bool slept = waited != kNever && waited > lane.free_ns;
    return slept ? waited + profile_.wake_ns : waited;
  }

  // Whether all steps before it have ended.
  bool IsNext(StepId id) const { return id.index() == num_ended_; }

  bool StartReady() {
    bool has_started = false;
    for (LaneState& lane : lanes_) {
      if (lane.is_running || lane.next == lane.steps.size()) continue;
      const StepId id = lane.steps[lane.next];
      if (ReadyNs(id, lane) > now_ || IssuedNs(id) > now_) continue;
      Start(id, lane);
      has_started = true;
    }
    return has_started;
  }

  void Start(StepId id, LaneState& lane) {
    lane.is_running = true;
    lane.begin_ns = now_;
    lane.is_staged = IsStaged(step(id));
    if (lane.is_staged || &lane == &lanes_[kCopyOut]) {
      StartPart(Part::kToHost, lane);
    } else if (&lane == &lanes_[kCopyIn]) {
      StartPart(Part::kToDevice, lane);
    } else {
      StartPart(Part::kKernel, lane);
    }
    if (&lane == &lanes_[kCompute]) CountStall(id, lane);
  }

  bool IsStaged(const Step& step) const {
    return step.lane == Lane::kCommunication && profile_.network &&
           profile_.network->is_staged && profile_.network->ranks > 1 &&
           graph_.node(step.node).placement == Placement::kDevice;
  }

  void StartPart(Part part, LaneState& lane) {
    const Step& step = plan_.steps[lane.steps[lane.next]];
    lane.part = part;
    lane.fixed_ns = 0;
    lane.left_ns = 0;
    ++num_running_[static_cast<size_t>(part)];
    if (step.kind == StepKind::kAlias) return;
    if (part == Part::kKernel) {
      lane.left_ns = static_cast<double>(kernel_ns_[step.node]);
      if (lane.steps[lane.next] == last_collective_) lane.fixed_ns = late_ns_;
      return;
    }
    StartCopy(lane.is_staged ? WireBytes(graph_, graph_.node(step.node))
                             : plan_.buffers[step.outputs[0]].bytes,
              lane);
  }

  void StartCopy(int64_t bytes, LaneState& lane) {
    const LinkDirection& direction =
        lane.part == Part::kToHost ? profile_.to_host : profile_.to_device;
    const std::vector<CopyTime>& table = direction.by_size;
    if (table.empty()) {
      lane.fixed_ns = direction.latency_ns;
      lane.left_ns =
          static_cast<double>(bytes) * 1e9 / direction.bytes_per_second;
      lane.shared_speed =
          direction.shared_bytes_per_second / direction.bytes_per_second;
    } else {
      lane.left_ns = CopyNsBySize(table, bytes, &CopyTime::alone_ns);
      lane.shared_speed =
          lane.left_ns / CopyNsBySize(table, bytes, &CopyTime::shared_ns);
    }
    lane.bytes_per_ns =
        static_cast<double>(bytes) /
        std::max(1.0, static_cast<double>(lane.fixed_ns) + lane.left_ns);
  }

  static StallCause CauseOf(Lane waited) {
    if (waited == Lane::kCommunication) return StallCause::kCommunication;
    return waited == Lane::kCopyIn ? StallCause::kCopyIn : StallCause::kCopyOut;
  }

  // Counts the time since the lane's previous step, charged to the last wait.
  void CountStall(StepId id, const LaneState& lane) {
    Stall stall = {.step = id, .ns = now_ - lane.free_ns};
    if (stall.ns == 0) return;
    const int64_t waited = WaitedNs(id);
    for (const StepId wait : step(id).waits) {
      if (ReadyNs(id, lane) != now_ || end_ns_[wait] != waited) continue;
      stall.copy = wait;
      stall.cause = CauseOf(step(wait).lane);
    }
    if (stall.copy.is_valid()) result_.charged_ns[stall.copy] += stall.ns;
    result_.stall_ns[static_cast<size_t>(stall.cause)] += stall.ns;
    result_.stalls.push_back(stall);
  }

  // The work that the lane does in a nanosecond.
  double Speed(const LaneState& lane) const {
    if (lane.part != Part::kKernel) return CopySpeed(lane);
    if (&lane == &lanes_[kCompute]) return KernelSpeed();
    const bool is_slowed =
        &lane == &lanes_[kCommunication] && lanes_[kCompute].is_running;
    return is_slowed ? 1 / Contention() : 1;
  }

  int NumRunning(Part part) const {
    return num_running_[static_cast<size_t>(part)];
  }

  double CopySpeed(const LaneState& lane) const {
    const Part other =
        lane.part == Part::kToHost ? Part::kToDevice : Part::kToHost;
    const double speed = NumRunning(other) > 0 ? lane.shared_speed : 1;
    return speed / NumRunning(lane.part);
  }

  double KernelSpeed() const {
    double lost = 0;
    for (const size_t i : {kCopyOut, kCopyIn, kCommunication}) {
      const LaneState& copy = lanes_[i];
      if (!copy.is_running || copy.part == Part::kKernel) continue;
      lost += copy.bytes_per_ns * CopySpeed(copy);
    }
    const double speed = 1 / (1 + lost * profile_.kernel_ns_per_copied_byte);
    const LaneState& collective = lanes_[kCommunication];
    return collective.is_running && collective.part == Part::kKernel
               ? speed / Contention()
               : speed;
  }

  // How many times as long kernels and collectives take beside each other.
  double Contention() const {
    return profile_.network ? 1 + profile_.network->contention : 1;
  }

  int64_t LeftNs(const LaneState& lane) const {
    if (lane.left_ns <= 0) return lane.fixed_ns;
    return lane.fixed_ns +
           static_cast<int64_t>(std::ceil(lane.left_ns / Speed(lane)));
  }

  int64_t NextEvent() const {
    int64_t next = kNever;
    for (const LaneState& lane : lanes_) {
      if (lane.is_running) {
        next = std::min(next, now_ + LeftNs(lane));
      } else if (lane.next < lane.steps.size()) {
        const StepId id = lane.steps[lane.next];
        const int64_t ready = ReadyNs(id, lane);
        if (ready != kNever)
          next = std::min(next, std::max(ready, IssuedNs(id)));
      }
    }
    return next;
  }

  void Advance(int64_t elapsed_ns) {
    std::array<double, kNumLanes> speeds = {};  // constant until the event
    for (size_t i = 0; i < lanes_.size(); ++i) speeds[i] = Speed(lanes_[i]);
    for (size_t i = 0; i < lanes_.size(); ++i) {
      LaneState& lane = lanes_[i];
      if (!lane.is_running) continue;
      const int64_t fixed = std::min(elapsed_ns, lane.fixed_ns);
      lane.fixed_ns -= fixed;
      lane.left_ns -= static_cast<double>(elapsed_ns - fixed) * speeds[i];
    }
  }

  // Ends the steps that are done now; returns how many.
  size_t FinishDone() {
    size_t done = 0;
    for (size_t i = 0; i < lanes_.size(); ++i) {
      LaneState& lane = lanes_[i];
      constexpr double kRoundingNs = 1e-6;
      if (!lane.is_running || lane.fixed_ns > 0 || lane.left_ns > kRoundingNs) {
        continue;
      }
      --num_running_[static_cast<size_t>(lane.part)];
      if (lane.is_staged && lane.part != Part::kToDevice) {
        StartPart(lane.part == Part::kToHost ? Part::kKernel : Part::kToDevice,
                  lane);
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
    ++num_ended_;
    if (step(id).kind == StepKind::kAlias) return;
    const Node& node = graph_.node(step(id).node);
    result_.busy_ns[static_cast<size_t>(track)] += now_ - lane.begin_ns;
    result_.timeline.spans.push_back(
        {.track = track,
         .name = node.name,
         .category = node.op,
         .begin_ns = lane.begin_ns,
         .end_ns = now_,
         .bytes = IsCopy(step(id).kind)
                      ? plan_.buffers[step(id).outputs[0]].bytes
                      : 0});
  }

  const ExecutionPlan& plan_;
  const Graph& graph_;
  const IdMap<NodeId, int64_t>& kernel_ns_;
  const DeviceProfile& profile_;
  std::array<LaneState, kNumLanes> lanes_;
  std::array<int, kNumParts> num_running_ = {};
  IdMap<StepId, int64_t> end_ns_;  // kNever: has not ended
  size_t num_ended_ = 0;
  int64_t now_ = 0;
  StepId last_collective_ = {};  // invalid: none
  int64_t late_ns_ = 0;
  SimulatedStep result_;
};

}  // namespace

SimulatedStep SimulateStep(const ExecutionPlan& plan, const Graph& graph,
                           const IdMap<NodeId, int64_t>& kernel_ns,
                           const DeviceProfile& profile) {
  return Simulation(plan, graph, kernel_ns, profile).Run();
}

}  // namespace spillway
