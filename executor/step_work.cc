#include "executor/step_work.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/status_macros.h"
#include "executor/guarded_call.h"

namespace spillway {

absl::Status KernelTask::Run(void* native_stream) {
  return Annotate(GuardedCall([&] {
                    return kernel_.Run({.inputs = inputs,
                                        .outputs = outputs,
                                        .workspace = workspace,
                                        .stream = native_stream,
                                        .seed = seed,
                                        .step = step,
                                        .communicator = communicator});
                  }),
                  node_name_);
}

absl::StatusOr<std::unique_ptr<KernelTask>> NewKernelTask(
    const ExecutorSpec& spec, const Step& step) {
  const Node& node = spec.graph->node(step.node);
  Kernel* kernel = (*spec.kernels)[step.node].get();
  if (kernel == nullptr) {
    return Unimplemented(fmt::format("{}: no kernel was prepared for op {}",
                                     node.name, node.op));
  }
  auto task = std::make_unique<KernelTask>(*kernel, node.name);
  task->inputs.resize(step.inputs.size());
  task->outputs.resize(step.outputs.size());
  task->communicator = spec.communicator;
  return task;
}

void* UseBuffer(const ExecutorSpec& spec, BufferId id) {
  const Buffer& buffer = spec.plan->buffers[id];
  Arena& arena =
      buffer.space == Space::kDevice ? *spec.device_arena : *spec.host_arena;
  return arena.Use(buffer.offset, buffer.bytes);
}

absl::Status CheckAllFed(const ExecutorSpec& spec, const RunOptions& options) {
  for (const Step& step : spec.plan->steps) {
    if (step.kind != StepKind::kFeed) continue;
    const auto feed = options.feeds.find(step.feed);
    if (feed == options.feeds.end() || feed->second == nullptr) {
      return FailedPrecondition(fmt::format(
          "{} is not fed: {} is needed", spec.graph->producer(step.feed).name,
          spec.graph->type(step.feed).ToString()));
    }
  }
  return absl::OkStatus();
}

absl::Status IssueCopy(const ExecutorSpec& spec, const Step& step,
                       const StepInputs& inputs, Stream& stream,
                       CopyCounts& copies) {
  void* const to = UseBuffer(spec, step.outputs[0]);
  const int64_t bytes = spec.plan->buffers[step.outputs[0]].bytes;
  switch (step.kind) {
    case StepKind::kFeed:
      if (spec.graph->output(step.node) != step.feed) {
        ++copies.fed_again;
        copies.fed_again_bytes += bytes;
      }
      return stream.CopyToDevice(to, inputs.feed(step.feed), bytes);
    case StepKind::kSwapOut:
      ++copies.swap_outs;
      copies.out_bytes += bytes;
      return stream.CopyToHost(to, UseBuffer(spec, step.inputs[0]), bytes);
    case StepKind::kSwapIn:
      ++copies.swap_ins;
      copies.in_bytes += bytes;
      return stream.CopyToDevice(to, UseBuffer(spec, step.inputs[0]), bytes);
    case StepKind::kCompute:
    case StepKind::kAlias:
      break;
  }
  SPILLWAY_CHECK(false);
}

}  // namespace spillway
