#include "tests/ops/gpu/run_on_device.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "comm/nccl/nccl_collectives.h"
#include "comm/thread_communicator.h"
#include "executor/parts_kernel.h"
#include "executor/session/session.h"
#include "graph/input_groups.h"
#include "ops/all_ops.h"

namespace spillway::testing {
namespace {

constexpr int64_t kGuardBytes = 256;
constexpr std::byte kGuard{0xA5};

// Offsets in one allocation, with guards before, between and after the buffers.
class Layout {
 public:
  int64_t Place(int64_t bytes) {
    const int64_t offset = end_;
    end_ = AlignUp(offset + bytes, 256) + kGuardBytes;
    spans_.emplace_back(offset, bytes);
    return offset;
  }
  int64_t num_bytes() const { return end_; }

  bool GuardsAreIntact(const std::vector<std::byte>& bytes) const {
    std::vector<char> is_used(bytes.size(), 0);
    for (const auto& [offset, size] : spans_) {
      std::fill_n(is_used.begin() + offset, size, 1);
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (is_used[i] == 0 && bytes[i] != kGuard) return false;
    }
    return true;
  }

 private:
  int64_t end_ = kGuardBytes;
  std::vector<std::pair<int64_t, int64_t>> spans_;
};

class RunTask final : public StreamTask {
 public:
  // `step`, `communicator`: as in KernelContext.
  RunTask(Kernel& kernel, std::vector<void*> inputs, std::vector<void*> outputs,
          void* workspace, const int64_t* step, Communicator* communicator)
      : kernel_(kernel),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        workspace_(workspace),
        step_(step),
        communicator_(communicator) {}

  absl::Status Run(void* native_stream) override {
    return kernel_.Run({.inputs = inputs_,
                        .outputs = outputs_,
                        .workspace = workspace_,
                        .stream = native_stream,
                        .seed = kCaseSeed,
                        .step = step_,
                        .communicator = communicator_});
  }

 private:
  Kernel& kernel_;
  const std::vector<void*> inputs_;
  const std::vector<void*> outputs_;
  void* const workspace_;
  const int64_t* const step_;
  Communicator* const communicator_;
};

HostTensor Read(const TensorType& type, const std::byte* bytes) {
  return {.type = type, .bytes = {bytes, bytes + type.num_bytes()}};
}

}  // namespace

absl::StatusOr<OpRun> RunOnDevice(Device& device, const OpCase& op_case,
                                  const RunOpOptions& options,
                                  Communicator* communicator) {
  const std::vector<HostTensor> inputs = MakeInputs(op_case);
  std::vector<TensorType> types;
  for (const HostTensor& input : inputs) types.push_back(input.type);
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Kernel> kernel,
      PrepareFromFactory(*StandardOps().Find(op_case.op),
                         {.attributes = op_case.attributes,
                          .inputs = types,
                          .outputs = op_case.outputs,
                          .math = options.math,
                          .algorithm = options.algorithm},
                         options.factory, options.slice));
  Layout layout;
  std::vector<int64_t> input_at;
  std::vector<int64_t> output_at;
  for (const TensorType& type : types) {
    input_at.push_back(layout.Place(type.num_bytes()));
  }
  for (const TensorType& type : op_case.outputs) {
    output_at.push_back(layout.Place(type.num_bytes()));
  }
  const int64_t workspace_at = layout.Place(kernel->workspace_bytes());
  std::vector<BufferPair> shared =
      AliasesOf(*StandardOps().Find(op_case.op), types.size());
  shared.insert(shared.end(), options.in_place.begin(), options.in_place.end());
  for (const BufferPair& pair : shared) {
    output_at[static_cast<size_t>(pair.output)] =
        input_at[static_cast<size_t>(pair.input)];
  }

  std::vector<std::byte> bytes(static_cast<size_t>(layout.num_bytes()), kGuard);
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::ranges::copy(inputs[i].bytes, bytes.begin() + input_at[i]);
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<DeviceMemory> memory,
      device.Allocate(MemorySpace::kDevice, layout.num_bytes()));
  const auto pointers = [&](const std::vector<int64_t>& offsets) {
    std::vector<void*> made;
    for (const int64_t offset : offsets)
      made.push_back(memory->data() + offset);
    return made;
  };
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<DeviceMemory> step,
      device.Allocate(MemorySpace::kHost, sizeof(kCaseStep)));
  std::memcpy(step->data(), &kCaseStep, sizeof(kCaseStep));
  RunTask task(*kernel, pointers(input_at), pointers(output_at),
               memory->data() + workspace_at,
               reinterpret_cast<const int64_t*>(step->data()), communicator);
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream,
                            device.NewStream({}));
  SPILLWAY_RETURN_IF_ERROR(
      stream->CopyToDevice(memory->data(), bytes.data(), layout.num_bytes()));
  SPILLWAY_RETURN_IF_ERROR(stream->Submit(&task));
  SPILLWAY_RETURN_IF_ERROR(
      stream->CopyToHost(bytes.data(), memory->data(), layout.num_bytes()));
  SPILLWAY_RETURN_IF_ERROR(stream->Synchronize());
  if (!layout.GuardsAreIntact(bytes)) {
    return Internal("the kernel writes outside its buffers");
  }
  OpRun run;
  for (size_t i = 0; i < inputs.size(); ++i) {
    run.inputs.push_back(Read(types[i], bytes.data() + input_at[i]));
  }
  for (size_t i = 0; i < op_case.outputs.size(); ++i) {
    run.outputs.push_back(
        Read(op_case.outputs[i], bytes.data() + output_at[i]));
  }
  return run;
}

absl::StatusOr<std::unique_ptr<Communicator>> NewSingleRank(NcclApi& nccl) {
  std::unique_ptr<Communicator> communicator = NewSelfCommunicator();
  SPILLWAY_ASSIGN_OR_RETURN(
      std::unique_ptr<StreamCollectives> streams,
      OpenNcclCollectives(nccl, *communicator, std::chrono::minutes(1)));
  communicator->SetStreams(std::move(streams));
  return communicator;
}

}  // namespace spillway::testing
