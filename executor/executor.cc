#include "executor/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "comm/communicator.h"
#include "executor/checked/checked_executor.h"
#include "executor/step_inputs.h"
#include "executor/step_times.h"
#include "executor/step_work.h"

namespace spillway {
namespace {

// State of one step of the plan.
struct StepState {
  std::unique_ptr<KernelTask> task;  // of a kCompute step
  std::unique_ptr<Event> done;       // null if no other lane waits for it
};

size_t IndexOf(Lane lane) { return static_cast<size_t>(lane); }

// Whether the step is a collective on the memory of a GPU.
bool QueuesOnStream(const ExecutorSpec& spec, const Step& step) {
  return step.lane == Lane::kCommunication &&
         spec.device->kind() == DeviceKind::kCuda &&
         spec.graph->node(step.node).placement == Placement::kDevice;
}

class PlanExecutor final : public Executor {
 public:
  explicit PlanExecutor(const ExecutorSpec& spec)
      : spec_(spec), times_(*spec.graph, *spec.plan) {}

  absl::Status Prepare();
  absl::Status RunStep(const RunOptions& options) override;
  const CopyCounts& copies() const override { return copies_; }
  int64_t staging_bytes() const override { return inputs_.num_bytes(); }
  std::byte* feed_buffer(ValueId placeholder) const override {
    return inputs_.feed_buffer(placeholder);
  }

 private:
  const Step& step(StepId id) const { return spec_.plan->steps[id]; }
  const Node& node(StepId id) const { return spec_.graph->node(step(id).node); }
  Stream& stream(StepId id) { return *streams_[IndexOf(step(id).lane)]; }

  absl::Status PrepareStep(StepId id);
  absl::Status PrepareCapture();
  absl::Status LaunchAll(const RunOptions& options);
  absl::Status Capture(const RunOptions& options);
  absl::Status IssueForked(const RunOptions& options);
  absl::Status IssueAll(const RunOptions& options);
  absl::Status Issue(StepId id, const RunOptions& options);
  absl::Status IssueWork(StepId id, const RunOptions& options);
  absl::Status SubmitKernel(StepId id, const RunOptions& options);
  absl::Status SynchronizeAll();

  const ExecutorSpec spec_;
  CopyCounts copies_;
  StepInputs inputs_;
  IdMap<StepId, StepState> steps_;
  StepTimes times_;
  StreamCollectives* collectives_ = nullptr;  // that steps queue; null: none

  // With capture_steps: `forked_` is recorded in the origin, the first existing
  // stream; `joined_` in each of the others.
  std::unique_ptr<Event> forked_;
  std::array<std::unique_ptr<Event>, kNumLanes> joined_;
  bool is_warm_ = false;                    // a step has run
  std::unique_ptr<CapturedWork> captured_;  // null: not yet
  CopyCounts captured_copies_;              // in `captured_`
  uint64_t captured_seed_ = 0;

  // By lane, null for lanes that the plan does not use. Last: streams must end
  // before the objects that they borrow.
  std::array<std::unique_ptr<Stream>, kNumLanes> streams_;
  Stream* origin_ = nullptr;  // of captures
};

absl::Status PlanExecutor::Prepare() {
  const size_t num_steps = spec_.plan->steps.size();
  steps_.reserve(num_steps);
  for (size_t i = 0; i < num_steps; ++i) steps_.push_back({});
  for (const StepId id : steps_.ids()) {
    SPILLWAY_RETURN_IF_ERROR(PrepareStep(id));
  }
  if (std::ranges::any_of(spec_.plan->steps, [&](const Step& step) {
        return QueuesOnStream(spec_, step);
      })) {
    collectives_ = spec_.communicator->streams();
  }
  SPILLWAY_RETURN_IF_ERROR(inputs_.Allocate(spec_));
  return spec_.capture_steps ? PrepareCapture() : absl::OkStatus();
}

absl::Status PlanExecutor::PrepareStep(StepId id) {
  std::unique_ptr<Stream>& lane_stream = streams_[IndexOf(step(id).lane)];
  if (lane_stream == nullptr) {
    SPILLWAY_ASSIGN_OR_RETURN(
        lane_stream, spec_.device->NewStream(
                         {.name = std::string(LaneName(step(id).lane))}));
  }
  for (const StepId wait : step(id).waits) {
    SPILLWAY_CHECK(wait < id);
    if (steps_[wait].done != nullptr) continue;
    SPILLWAY_ASSIGN_OR_RETURN(steps_[wait].done, spec_.device->NewEvent({}));
  }
  if (step(id).kind == StepKind::kCompute) {
    SPILLWAY_ASSIGN_OR_RETURN(steps_[id].task, NewKernelTask(spec_, step(id)));
  }
  return absl::OkStatus();
}

absl::Status PlanExecutor::PrepareCapture() {
  SPILLWAY_ASSIGN_OR_RETURN(forked_, spec_.device->NewEvent({}));
  for (size_t lane = 0; lane < streams_.size(); ++lane) {
    if (streams_[lane] == nullptr) continue;
    if (origin_ == nullptr) {
      origin_ = streams_[lane].get();
      continue;
    }
    SPILLWAY_ASSIGN_OR_RETURN(joined_[lane], spec_.device->NewEvent({}));
  }
  return absl::OkStatus();
}

absl::Status PlanExecutor::RunStep(const RunOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(CheckAllFed(spec_, options));
  if (options.timeline != nullptr) {
    SPILLWAY_RETURN_IF_ERROR(times_.Prepare(*spec_.device));
  }
  inputs_.Set(options);
  const bool is_captured =
      origin_ != nullptr && is_warm_ && options.timeline == nullptr;
  if (collectives_ != nullptr) collectives_->Begin();
  const absl::Status issued =
      is_captured ? LaunchAll(options) : IssueAll(options);
  // Also after an error: no borrowed memory may stay in use.
  const absl::Status done = SynchronizeAll();
  // Its error is the cause of others.
  if (collectives_ != nullptr) SPILLWAY_RETURN_IF_ERROR(collectives_->End());
  SPILLWAY_RETURN_IF_ERROR(issued);
  SPILLWAY_RETURN_IF_ERROR(done);
  is_warm_ = true;
  if (options.timeline != nullptr) times_.FillTimeline(*options.timeline);
  return absl::OkStatus();
}

absl::Status PlanExecutor::LaunchAll(const RunOptions& options) {
  if (captured_ == nullptr) SPILLWAY_RETURN_IF_ERROR(Capture(options));
  SPILLWAY_CHECK(options.seed == captured_seed_);
  SPILLWAY_RETURN_IF_ERROR(origin_->Launch(*captured_));
  copies_ += captured_copies_;
  return absl::OkStatus();
}

absl::Status PlanExecutor::Capture(const RunOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(origin_->BeginCapture());
  const CopyCounts before = std::exchange(copies_, {});
  const absl::Status issued = IssueForked(options);
  captured_copies_ = std::exchange(copies_, before);
  captured_seed_ = options.seed;
  absl::StatusOr<std::unique_ptr<CapturedWork>> captured =
      origin_->EndCapture();
  // A capture queues nothing, so these are errors of tasks. Errors of later
  // calls may be their consequences.
  SPILLWAY_RETURN_IF_ERROR(SynchronizeAll());
  SPILLWAY_RETURN_IF_ERROR(issued);
  SPILLWAY_ASSIGN_OR_RETURN(captured_, std::move(captured));
  return absl::OkStatus();
}

// The other streams join the origin's capture; the origin waits for them at the
// end.
absl::Status PlanExecutor::IssueForked(const RunOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(origin_->Record(forked_.get()));
  for (size_t lane = 0; lane < streams_.size(); ++lane) {
    if (joined_[lane] == nullptr) continue;
    SPILLWAY_RETURN_IF_ERROR(streams_[lane]->Wait(forked_.get()));
  }
  SPILLWAY_RETURN_IF_ERROR(IssueAll(options));
  for (size_t lane = 0; lane < streams_.size(); ++lane) {
    if (joined_[lane] == nullptr) continue;
    SPILLWAY_RETURN_IF_ERROR(streams_[lane]->Record(joined_[lane].get()));
    SPILLWAY_RETURN_IF_ERROR(origin_->Wait(joined_[lane].get()));
  }
  return absl::OkStatus();
}

absl::Status PlanExecutor::IssueAll(const RunOptions& options) {
  for (const StepId id : steps_.ids()) {
    const absl::Status status = Issue(id, options);
    if (!status.ok()) return Annotate(status, node(id).name);
  }
  return absl::OkStatus();
}

absl::Status PlanExecutor::Issue(StepId id, const RunOptions& options) {
  const StepState& state = steps_[id];
  Stream& stream = this->stream(id);
  const bool timed = options.timeline != nullptr;
  for (const StepId wait : step(id).waits) {
    SPILLWAY_RETURN_IF_ERROR(stream.Wait(steps_[wait].done.get()));
  }
  if (timed) SPILLWAY_RETURN_IF_ERROR(stream.Record(times_.begin(id)));
  stream.BeginRange(node(id).name.c_str());
  const absl::Status issued = IssueWork(id, options);
  stream.EndRange();
  SPILLWAY_RETURN_IF_ERROR(issued);
  if (timed) SPILLWAY_RETURN_IF_ERROR(stream.Record(times_.end(id)));
  if (state.done != nullptr)
    SPILLWAY_RETURN_IF_ERROR(stream.Record(state.done.get()));
  return absl::OkStatus();
}

absl::Status PlanExecutor::IssueWork(StepId id, const RunOptions& options) {
  switch (step(id).kind) {
    case StepKind::kCompute:
      return SubmitKernel(id, options);
    case StepKind::kAlias:
      return absl::OkStatus();
    case StepKind::kFeed:
    case StepKind::kSwapOut:
    case StepKind::kSwapIn:
      return IssueCopy(spec_, step(id), inputs_, stream(id), copies_);
  }
  return absl::OkStatus();
}

absl::Status PlanExecutor::SubmitKernel(StepId id, const RunOptions& options) {
  const Step& step = this->step(id);
  KernelTask& task = *steps_[id].task;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    task.inputs[i] = UseBuffer(spec_, step.inputs[i]);
  }
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    task.outputs[i] = UseBuffer(spec_, step.outputs[i]);
  }
  if (step.workspace.is_valid()) {
    task.workspace = UseBuffer(spec_, step.workspace);
  }
  task.seed = options.seed;
  task.step = inputs_.step();
  return node(id).placement == Placement::kHost ? stream(id).SubmitOnHost(&task)
                                                : stream(id).Submit(&task);
}

absl::Status PlanExecutor::SynchronizeAll() {
  absl::Status first;
  for (const std::unique_ptr<Stream>& stream : streams_) {
    if (stream != nullptr) first.Update(stream->Synchronize());
  }
  return first;
}

// FAILED_PRECONDITION if the plan has collectives that the communicator cannot
// do, or there is none.
absl::Status CheckCommunicator(const ExecutorSpec& spec) {
  for (const Step& step : spec.plan->steps) {
    if (step.lane != Lane::kCommunication) continue;
    const Node& node = spec.graph->node(step.node);
    if (spec.communicator == nullptr) {
      return FailedPrecondition(
          fmt::format("{}: {} needs the communicator of a run "
                      "(SessionOptions::communicator)",
                      node.name, node.op));
    }
    if (QueuesOnStream(spec, step) && spec.communicator->streams() == nullptr) {
      return FailedPrecondition(fmt::format(
          "{}: {} needs a communicator that reduces on GPUs (nccl), or to be "
          "placed on the host (PlacePrograms)",
          node.name, node.op));
    }
  }
  return absl::OkStatus();
}

}  // namespace

CopyCounts& CopyCounts::operator+=(const CopyCounts& other) {
  swap_outs += other.swap_outs;
  swap_ins += other.swap_ins;
  out_bytes += other.out_bytes;
  in_bytes += other.in_bytes;
  fed_again += other.fed_again;
  fed_again_bytes += other.fed_again_bytes;
  return *this;
}

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(
    const ExecutorSpec& spec) {
  SPILLWAY_CHECK(spec.device_arena->num_bytes() >= spec.plan->device_bytes);
  SPILLWAY_CHECK(spec.host_arena->num_bytes() >= spec.plan->host_bytes);
  SPILLWAY_RETURN_IF_ERROR(CheckCommunicator(spec));
  if (spec.capture_steps && !spec.device->can_capture()) {
    return Unimplemented(
        fmt::format("the {} device has no graphs", spec.device->name()));
  }
  if (spec.checked_memory != nullptr) return NewCheckedExecutor(spec);
  auto executor = std::make_unique<PlanExecutor>(spec);
  SPILLWAY_RETURN_IF_ERROR(executor->Prepare());
  return executor;
}

}  // namespace spillway
