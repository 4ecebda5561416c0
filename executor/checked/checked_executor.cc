#include "executor/checked/checked_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"
#include "executor/checked/checked_memory.h"
#include "executor/checked/fenced_buffers.h"
#include "executor/checked/poison.h"
#include "executor/serial_order.h"
#include "executor/step_inputs.h"
#include "executor/step_times.h"
#include "executor/step_work.h"
#include "graph/input_groups.h"

namespace spillway {
namespace {

// One of the distinct buffers of a compute step; a workspace has both flags
// false.
struct KernelBuffer {
  BufferId id = {};
  bool is_read = false;     // an input
  bool is_written = false;  // an output, or an input that the op overwrites
};

// State of a compute step.
struct KernelState {
  std::unique_ptr<KernelTask> task = {};
  std::vector<KernelBuffer> buffers = {};
  std::vector<int64_t> sizes = {};  // of these buffers
};

// "input 1", the first slot that has the buffer.
std::string SlotName(const Step& step, BufferId id) {
  const auto input = std::ranges::find(step.inputs, id);
  if (input != step.inputs.end()) {
    return fmt::format("input {}", input - step.inputs.begin());
  }
  const auto output = std::ranges::find(step.outputs, id);
  if (output != step.outputs.end()) {
    return fmt::format("output {}", output - step.outputs.begin());
  }
  return "workspace";
}

std::vector<KernelBuffer> KernelBuffers(const Step& step, const OpDef* op) {
  std::vector<KernelBuffer> buffers;
  const auto entry = [&](BufferId id) -> KernelBuffer& {
    const auto found = std::ranges::find(buffers, id, &KernelBuffer::id);
    return found != buffers.end() ? *found
                                  : buffers.emplace_back(KernelBuffer{id});
  };
  for (const BufferId id : step.inputs) entry(id).is_read = true;
  for (const BufferId id : step.outputs) entry(id).is_written = true;
  if (op != nullptr) {
    for (const int slot : MutatedInputs(*op, step.inputs.size())) {
      entry(step.inputs[static_cast<size_t>(slot)]).is_written = true;
    }
  }
  if (step.workspace.is_valid()) entry(step.workspace);
  return buffers;
}

class CheckedExecutor final : public Executor {
 public:
  explicit CheckedExecutor(const ExecutorSpec& spec)
      : spec_(spec),
        memory_(*spec.checked_memory),
        orders_({MakeSerialOrder(*spec.plan, CopyTime::kLate),
                 MakeSerialOrder(*spec.plan, CopyTime::kEarly)}),
        times_(*spec.graph, *spec.plan) {}

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
  const Buffer& buffer(BufferId id) const { return spec_.plan->buffers[id]; }

  absl::Status PrepareKernel(StepId id);
  absl::Status RunAll(const SerialOrder& order, const RunOptions& options);
  absl::Status Run(const SerialOrder& order, StepId id,
                   const RunOptions& options);
  absl::Status CheckInputs(StepId id) const;
  absl::Status Work(StepId id, const RunOptions& options);
  absl::Status RunCopy(StepId id, const RunOptions& options);
  absl::Status RunKernel(StepId id, const RunOptions& options);
  void FillBuffers(const KernelState& state, const FencedBuffers& fenced) const;
  void Bind(StepId id, const FencedBuffers& fenced, const RunOptions& options);
  absl::Status CheckFences(StepId id, const FencedBuffers& fenced) const;
  absl::Status CheckInputsUnchanged(StepId id,
                                    const FencedBuffers& fenced) const;
  std::string Describe(StepId id, BufferId buffer_id) const;
  std::span<std::byte> region() const;
  template <typename Issue>
  absl::Status Timed(StepId id, const RunOptions& options, Issue issue);

  const ExecutorSpec spec_;
  CheckedMemory& memory_;
  const std::array<SerialOrder, 2> orders_;  // taken in turn
  int64_t steps_run_ = 0;
  CopyCounts copies_;
  StepInputs inputs_;
  IdMap<StepId, KernelState> kernels_;    // empty for other steps
  std::unique_ptr<DeviceMemory> region_;  // of the kernels' buffers
  StepTimes times_;
  std::unique_ptr<Stream> stream_;  // last: ends before what it borrows
};

absl::Status CheckedExecutor::Prepare() {
  SPILLWAY_CHECK(spec_.ops != nullptr);
  SPILLWAY_ASSIGN_OR_RETURN(stream_,
                            spec_.device->NewStream({.name = "checked"}));
  SPILLWAY_RETURN_IF_ERROR(inputs_.Allocate(spec_));
  kernels_.reserve(spec_.plan->steps.size());
  int64_t region_bytes = 0;
  for (const StepId id : spec_.plan->steps.ids()) {
    kernels_.push_back({});
    if (step(id).kind != StepKind::kCompute) continue;
    SPILLWAY_RETURN_IF_ERROR(PrepareKernel(id));
    region_bytes =
        std::max(region_bytes, FencedBuffers::RegionBytes(kernels_[id].sizes));
  }
  if (region_bytes == 0) return absl::OkStatus();
  // Host memory, so that the device's capacity is only used by the plan.
  SPILLWAY_ASSIGN_OR_RETURN(
      region_, spec_.device->Allocate(MemorySpace::kHost, region_bytes));
  return absl::OkStatus();
}

absl::Status CheckedExecutor::PrepareKernel(StepId id) {
  KernelState& state = kernels_[id];
  SPILLWAY_ASSIGN_OR_RETURN(state.task, NewKernelTask(spec_, step(id)));
  state.buffers = KernelBuffers(step(id), spec_.ops->Find(node(id).op));
  for (const KernelBuffer& used : state.buffers) {
    state.sizes.push_back(buffer(used.id).bytes);
  }
  return absl::OkStatus();
}

absl::Status CheckedExecutor::RunStep(const RunOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(CheckAllFed(spec_, options));
  if (options.timeline != nullptr) {
    SPILLWAY_RETURN_IF_ERROR(times_.Prepare(*spec_.device));
  }
  inputs_.Set(options);
  memory_.EndAll();  // buffers fetched by the last step, or left when it failed
  memory_.SealResidents();
  const auto turn = static_cast<size_t>(steps_run_++) % orders_.size();
  SPILLWAY_RETURN_IF_ERROR(RunAll(orders_[turn], options));
  const absl::Status checked = memory_.CheckAll();
  if (!checked.ok()) return Annotate(checked, "after the step");
  if (options.timeline != nullptr) times_.FillTimeline(*options.timeline);
  return absl::OkStatus();
}

absl::Status CheckedExecutor::RunAll(const SerialOrder& order,
                                     const RunOptions& options) {
  for (const StepId id : order.steps) {
    SPILLWAY_RETURN_IF_ERROR(Run(order, id, options));
  }
  return absl::OkStatus();
}

absl::Status CheckedExecutor::Run(const SerialOrder& order, StepId id,
                                  const RunOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(CheckInputs(id));
  for (const BufferId begins : order.begins[id]) {
    const absl::Status status = memory_.Begin(buffer(begins));
    if (!status.ok()) return Annotate(status, Describe(id, begins));
  }
  SPILLWAY_RETURN_IF_ERROR(Work(id, options));
  for (const BufferId ends : order.ends[id]) memory_.End(buffer(ends));
  return absl::OkStatus();
}

absl::Status CheckedExecutor::CheckInputs(StepId id) const {
  for (const BufferId input : step(id).inputs) {
    const absl::Status sealed = memory_.CheckSealed(buffer(input));
    if (!sealed.ok()) return Annotate(sealed, Describe(id, input));
  }
  return absl::OkStatus();
}

absl::Status CheckedExecutor::Work(StepId id, const RunOptions& options) {
  switch (step(id).kind) {
    case StepKind::kCompute:
      return RunKernel(id, options);
    case StepKind::kAlias:
      return Timed(id, options, [] { return absl::OkStatus(); });
    case StepKind::kFeed:
    case StepKind::kSwapOut:
    case StepKind::kSwapIn:
      return RunCopy(id, options);
  }
  return absl::OkStatus();
}

absl::Status CheckedExecutor::RunCopy(StepId id, const RunOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(Timed(id, options, [&] {
    return IssueCopy(spec_, step(id), inputs_, *stream_, copies_);
  }));
  memory_.Seal(buffer(step(id).outputs[0]));
  return absl::OkStatus();
}

// Issues the work to the stream and waits until it is done.
template <typename Issue>
absl::Status CheckedExecutor::Timed(StepId id, const RunOptions& options,
                                    Issue issue) {
  const bool timed = options.timeline != nullptr;
  absl::Status issued;
  if (timed) issued.Update(stream_->Record(times_.begin(id)));
  if (issued.ok()) issued.Update(issue());
  if (timed) issued.Update(stream_->Record(times_.end(id)));
  absl::Status done = stream_->Synchronize();
  if (!issued.ok()) return Annotate(issued, node(id).name);
  return done;
}

absl::Status CheckedExecutor::RunKernel(StepId id, const RunOptions& options) {
  const KernelState& state = kernels_[id];
  const FencedBuffers fenced(region(), state.sizes);
  FillBuffers(state, fenced);
  Bind(id, fenced, options);
  SPILLWAY_RETURN_IF_ERROR(
      Timed(id, options, [&] { return stream_->Submit(state.task.get()); }));
  SPILLWAY_RETURN_IF_ERROR(CheckFences(id, fenced));
  SPILLWAY_RETURN_IF_ERROR(CheckInputsUnchanged(id, fenced));
  for (size_t i = 0; i < state.buffers.size(); ++i) {
    if (!state.buffers[i].is_written) continue;
    const Buffer& written = buffer(state.buffers[i].id);
    std::ranges::copy(fenced[i], memory_.Bytes(written).begin());
    memory_.Seal(written);
  }
  return absl::OkStatus();
}

void CheckedExecutor::FillBuffers(const KernelState& state,
                                  const FencedBuffers& fenced) const {
  for (size_t i = 0; i < state.buffers.size(); ++i) {
    if (state.buffers[i].is_read) {
      std::ranges::copy(memory_.Bytes(buffer(state.buffers[i].id)),
                        fenced[i].begin());
    } else {
      FillWith(Pattern::kPoison, fenced[i]);
    }
  }
}

// Points the kernel's slots at the fenced buffers; null for empty buffers, as
// in an arena.
void CheckedExecutor::Bind(StepId id, const FencedBuffers& fenced,
                           const RunOptions& options) {
  const KernelState& state = kernels_[id];
  const auto place = [&](BufferId buffer_id) -> void* {
    const auto used =
        std::ranges::find(state.buffers, buffer_id, &KernelBuffer::id);
    const std::span<std::byte> bytes =
        fenced[static_cast<size_t>(used - state.buffers.begin())];
    return bytes.empty() ? nullptr : bytes.data();
  };
  KernelTask& task = *state.task;
  std::ranges::transform(step(id).inputs, task.inputs.begin(), place);
  std::ranges::transform(step(id).outputs, task.outputs.begin(), place);
  if (step(id).workspace.is_valid()) task.workspace = place(step(id).workspace);
  task.seed = options.seed;
  task.step = inputs_.step();
}

absl::Status CheckedExecutor::CheckFences(StepId id,
                                          const FencedBuffers& fenced) const {
  const auto damage = fenced.FindDamage();
  if (!damage) return absl::OkStatus();
  const KernelState& state = kernels_[id];
  return Internal(
      fmt::format("{}: the kernel wrote byte {}, outside of its {} bytes",
                  Describe(id, state.buffers[damage->buffer].id),
                  damage->offset, state.sizes[damage->buffer]));
}

absl::Status CheckedExecutor::CheckInputsUnchanged(
    StepId id, const FencedBuffers& fenced) const {
  const std::vector<KernelBuffer>& buffers = kernels_[id].buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].is_read || buffers[i].is_written) continue;
    const std::span<std::byte> before = memory_.Bytes(buffer(buffers[i].id));
    const std::span<std::byte> after = fenced[i];
    if (before.empty() ||
        std::memcmp(before.data(), after.data(), before.size()) == 0) {
      continue;
    }
    const auto changed = std::ranges::mismatch(before, after).in1;
    return Internal(fmt::format(
        "{}: the kernel changed byte {}, but {} does not declare that it "
        "overwrites this input",
        Describe(id, buffers[i].id), changed - before.begin(), node(id).op));
  }
  return absl::OkStatus();
}

std::span<std::byte> CheckedExecutor::region() const {
  if (region_ == nullptr) return {};
  return {region_->data(), static_cast<size_t>(region_->num_bytes())};
}

// "conv1: output 0 (conv1/Conv2D:0)"
std::string CheckedExecutor::Describe(StepId id, BufferId buffer_id) const {
  return fmt::format("{}: {} ({})", node(id).name,
                     SlotName(step(id), buffer_id), buffer(buffer_id).name);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Executor>> NewCheckedExecutor(
    const ExecutorSpec& spec) {
  auto executor = std::make_unique<CheckedExecutor>(spec);
  SPILLWAY_RETURN_IF_ERROR(executor->Prepare());
  return executor;
}

}  // namespace spillway
