#include "executor/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

// One node's kernel and what it is run with. The stream runs it after it was
// issued; it changes again only after the step was synchronised.
class KernelTask final : public StreamTask {
 public:
  KernelTask(Kernel& kernel, std::string_view node_name)
      : kernel_(kernel), node_name_(node_name) {}

  absl::Status Run(void* native_stream) override {
    return Annotate(kernel_.Run({.inputs = inputs,
                                 .outputs = outputs,
                                 .workspace = workspace,
                                 .stream = native_stream,
                                 .seed = seed,
                                 .step = step}),
                    node_name_);
  }

  std::vector<void*> inputs;
  std::vector<void*> outputs;
  void* workspace = nullptr;
  uint64_t seed = 0;
  int64_t step = 0;

 private:
  Kernel& kernel_;
  const std::string_view node_name_;  // of the graph, which outlives this
};

// What the executor keeps for one step of the plan.
struct StepState {
  std::unique_ptr<KernelTask> task;   // of a kCompute step
  std::unique_ptr<Event> done;        // null if no other lane waits for it
  std::unique_ptr<Event> begin_time;  // both null until a timeline is asked for
  std::unique_ptr<Event> end_time;
};

size_t IndexOf(Lane lane) { return static_cast<size_t>(lane); }

class PlanExecutor final : public Executor {
 public:
  explicit PlanExecutor(const ExecutorSpec& spec) : spec_(spec) {}

  absl::Status Prepare();
  absl::Status RunStep(const RunOptions& options) override;
  const CopyCounts& copies() const override { return copies_; }

 private:
  const Step& step(StepId id) const { return spec_.plan->steps[id]; }
  const Node& node(StepId id) const { return spec_.graph->node(step(id).node); }
  Stream& stream(StepId id) { return *streams_[IndexOf(step(id).lane)]; }
  int64_t num_bytes(BufferId id) const { return spec_.plan->buffers[id].bytes; }

  absl::Status PrepareStep(StepId id);
  absl::Status CheckFeeds(const RunOptions& options) const;
  absl::Status AddTimingEvents();
  absl::Status IssueAll(const RunOptions& options);
  absl::Status Issue(StepId id, const RunOptions& options);
  absl::Status IssueWork(StepId id, const RunOptions& options);
  absl::Status SubmitKernel(StepId id, const RunOptions& options);
  absl::Status SynchronizeAll();
  void FillTimeline(Timeline& timeline) const;
  void* Use(BufferId id);

  const ExecutorSpec spec_;
  CopyCounts copies_;
  IdMap<StepId, StepState> steps_;
  // By lane, null for lanes the plan does not use. Last: streams end before
  // what they borrow.
  std::array<std::unique_ptr<Stream>, kNumLanes> streams_;
};

absl::Status PlanExecutor::Prepare() {
  CHECK(spec_.device_arena->num_bytes() >= spec_.plan->device_bytes);
  CHECK(spec_.host_arena->num_bytes() >= spec_.plan->host_bytes);
  const size_t num_steps = spec_.plan->steps.size();
  steps_.reserve(num_steps);
  for (size_t i = 0; i < num_steps; ++i) steps_.push_back({});
  for (size_t i = 0; i < num_steps; ++i) {
    RETURN_IF_ERROR(PrepareStep(StepId(i)));
  }
  return absl::OkStatus();
}

absl::Status PlanExecutor::PrepareStep(StepId id) {
  std::unique_ptr<Stream>& lane_stream = streams_[IndexOf(step(id).lane)];
  if (lane_stream == nullptr) {
    ASSIGN_OR_RETURN(lane_stream,
                     spec_.device->NewStream(
                         {.name = std::string(LaneName(step(id).lane))}));
  }
  for (const StepId wait : step(id).waits) {
    CHECK(wait < id);
    if (steps_[wait].done != nullptr) continue;
    ASSIGN_OR_RETURN(steps_[wait].done, spec_.device->NewEvent({}));
  }
  if (step(id).kind == StepKind::kCompute) {
    Kernel* kernel = (*spec_.kernels)[step(id).node].get();
    if (kernel == nullptr) {
      return Unimplemented(fmt::format("{}: no kernel was prepared for op {}",
                                       node(id).name, node(id).op));
    }
    steps_[id].task = std::make_unique<KernelTask>(*kernel, node(id).name);
    steps_[id].task->inputs.resize(step(id).inputs.size());
    steps_[id].task->outputs.resize(step(id).outputs.size());
  }
  return absl::OkStatus();
}

absl::Status PlanExecutor::RunStep(const RunOptions& options) {
  RETURN_IF_ERROR(CheckFeeds(options));
  if (options.timeline != nullptr) RETURN_IF_ERROR(AddTimingEvents());
  const absl::Status issued = IssueAll(options);
  // Also after an error: nothing borrowed may stay in use.
  const absl::Status done = SynchronizeAll();
  RETURN_IF_ERROR(issued);
  RETURN_IF_ERROR(done);
  if (options.timeline != nullptr) FillTimeline(*options.timeline);
  return absl::OkStatus();
}

absl::Status PlanExecutor::CheckFeeds(const RunOptions& options) const {
  for (const Step& step : spec_.plan->steps) {
    if (step.kind != StepKind::kFeed) continue;
    const ValueId value = spec_.graph->output(step.node);
    const auto feed = options.feeds.find(value);
    if (feed == options.feeds.end() || feed->second == nullptr) {
      return FailedPrecondition(fmt::format(
          "{} is not fed: {} is needed", spec_.graph->node(step.node).name,
          spec_.graph->type(value).ToString()));
    }
  }
  return absl::OkStatus();
}

absl::Status PlanExecutor::AddTimingEvents() {
  const EventOptions timing = {.timing = true};
  for (StepState& state : steps_) {
    if (state.begin_time != nullptr) continue;
    ASSIGN_OR_RETURN(state.begin_time, spec_.device->NewEvent(timing));
    ASSIGN_OR_RETURN(state.end_time, spec_.device->NewEvent(timing));
  }
  return absl::OkStatus();
}

absl::Status PlanExecutor::IssueAll(const RunOptions& options) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const absl::Status status = Issue(StepId(i), options);
    if (!status.ok()) return Annotate(status, node(StepId(i)).name);
  }
  return absl::OkStatus();
}

absl::Status PlanExecutor::Issue(StepId id, const RunOptions& options) {
  const StepState& state = steps_[id];
  Stream& stream = this->stream(id);
  const bool timed = options.timeline != nullptr;
  for (const StepId wait : step(id).waits) {
    RETURN_IF_ERROR(stream.Wait(steps_[wait].done.get()));
  }
  if (timed) RETURN_IF_ERROR(stream.Record(state.begin_time.get()));
  RETURN_IF_ERROR(IssueWork(id, options));
  if (timed) RETURN_IF_ERROR(stream.Record(state.end_time.get()));
  if (state.done != nullptr) RETURN_IF_ERROR(stream.Record(state.done.get()));
  return absl::OkStatus();
}

absl::Status PlanExecutor::IssueWork(StepId id, const RunOptions& options) {
  const Step& step = this->step(id);
  switch (step.kind) {
    case StepKind::kCompute:
      return SubmitKernel(id, options);
    case StepKind::kAlias:
      return absl::OkStatus();
    case StepKind::kFeed: {
      const BufferId to = step.outputs[0];
      const void* from = options.feeds.at(spec_.graph->output(step.node));
      return stream(id).CopyToDevice(Use(to), from, num_bytes(to));
    }
    case StepKind::kSwapOut: {
      const BufferId to = step.outputs[0];
      ++copies_.swap_outs;
      copies_.out_bytes += num_bytes(to);
      return stream(id).CopyToHost(Use(to), Use(step.inputs[0]), num_bytes(to));
    }
    case StepKind::kSwapIn: {
      const BufferId to = step.outputs[0];
      ++copies_.swap_ins;
      copies_.in_bytes += num_bytes(to);
      return stream(id).CopyToDevice(Use(to), Use(step.inputs[0]),
                                     num_bytes(to));
    }
  }
  return absl::OkStatus();
}

absl::Status PlanExecutor::SubmitKernel(StepId id, const RunOptions& options) {
  const Step& step = this->step(id);
  KernelTask& task = *steps_[id].task;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    task.inputs[i] = Use(step.inputs[i]);
  }
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    task.outputs[i] = Use(step.outputs[i]);
  }
  if (step.workspace.is_valid()) task.workspace = Use(step.workspace);
  task.seed = options.seed;
  task.step = options.step;
  return stream(id).Submit(&task);
}

absl::Status PlanExecutor::SynchronizeAll() {
  absl::Status first;
  for (const std::unique_ptr<Stream>& stream : streams_) {
    if (stream != nullptr) first.Update(stream->Synchronize());
  }
  return first;
}

void PlanExecutor::FillTimeline(Timeline& timeline) const {
  timeline = {};
  for (int lane = 0; lane < kNumLanes; ++lane) {
    timeline.tracks.emplace_back(LaneName(static_cast<Lane>(lane)));
  }
  int64_t start_ns = std::numeric_limits<int64_t>::max();
  for (const StepState& state : steps_) {
    start_ns = std::min(start_ns, state.begin_time->TimeNs());
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    const StepId id(i);
    const StepKind kind = step(id).kind;
    if (kind == StepKind::kAlias) continue;
    const bool copies = kind != StepKind::kCompute;
    timeline.spans.push_back(
        {.track = static_cast<int32_t>(step(id).lane),
         .name = node(id).name,
         .category = node(id).op,
         .begin_ns = steps_[id].begin_time->TimeNs() - start_ns,
         .end_ns = steps_[id].end_time->TimeNs() - start_ns,
         .bytes = copies ? num_bytes(step(id).outputs[0]) : 0});
  }
}

void* PlanExecutor::Use(BufferId id) {
  const Buffer& buffer = spec_.plan->buffers[id];
  Arena& arena =
      buffer.space == Space::kDevice ? *spec_.device_arena : *spec_.host_arena;
  return arena.Use(buffer.offset, buffer.bytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(
    const ExecutorSpec& spec) {
  auto executor = std::make_unique<PlanExecutor>(spec);
  RETURN_IF_ERROR(executor->Prepare());
  return executor;
}

}  // namespace spillway
