#include "executor/session.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "executor/arena.h"
#include "executor/checked_memory.h"
#include "executor/plan_programs.h"
#include "executor/variables.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// Refused here, with the remedy, rather than by the allocation.
absl::Status CheckFits(const PlannedPrograms& planned, const Device& device) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t free_bytes, device.FreeBytes());
  if (planned.device_bytes <= free_bytes) return absl::OkStatus();
  return ResourceExhausted(fmt::format(
      "the step needs {} ({} bytes) of device memory; {} ({} bytes) of {} are "
      "free; set a device memory budget with LMS, or lower the batch size",
      FormatBytes(planned.device_bytes), planned.device_bytes,
      FormatBytes(free_bytes), free_bytes, device.name()));
}

absl::Status CheckFeed(const Graph& graph, ValueId id, const TensorView& feed) {
  if (!id.is_valid() || id.index() >= graph.num_values()) {
    return InvalidArgument(fmt::format("feed of value {}, but {} has {}",
                                       id.value(), graph.name(),
                                       graph.num_values()));
  }
  const Node& node = graph.producer(id);
  if (node.op != kPlaceholder) {
    return InvalidArgument(
        fmt::format("feed {} is not a Placeholder but the output of a {}",
                    graph.ValueName(id), node.op));
  }
  if (feed.type != graph.type(id)) {
    return InvalidArgument(fmt::format("feed {}: expected {}, got {}",
                                       node.name, graph.type(id).ToString(),
                                       feed.type.ToString()));
  }
  if (feed.data == nullptr) {
    return InvalidArgument(fmt::format("feed {} has no data", node.name));
  }
  return absl::OkStatus();
}

absl::Status CheckFeeds(const PlannedProgram& program, const Feeds& feeds) {
  const Graph& graph = program.graph;
  for (const auto& [id, feed] : feeds) {
    SPILLWAY_RETURN_IF_ERROR(CheckFeed(graph, id, feed));
  }
  for (const spillway::Step& step : program.plan.steps) {
    if (step.kind != StepKind::kFeed) continue;
    const ValueId id = graph.output(step.node);
    if (feeds.contains(id)) continue;
    return InvalidArgument(fmt::format("feed {} ({}) is missing",
                                       graph.node(step.node).name,
                                       graph.type(id).ToString()));
  }
  return absl::OkStatus();
}

class SessionImpl final : public Session {
 public:
  SessionImpl(std::unique_ptr<Device> device, PlannedPrograms planned,
              const SessionOptions& options)
      : options_(options),
        device_(std::move(device)),
        planned_(std::move(planned)),
        steps_run_(planned_.programs.size(), 0) {}

  absl::Status Allocate();

  absl::StatusOr<StepResult> Step(int program, const Feeds& feeds,
                                  Timeline* timeline) override;
  std::byte* FeedBuffer(int program, ValueId placeholder) override {
    return executors_[Index(program)]->feed_buffer(placeholder);
  }
  absl::StatusOr<std::map<std::string, HostTensor>> ReadVariables() override {
    return CopyVariablesToHost(variables());
  }
  absl::Status WriteVariables(
      const std::map<std::string, HostTensor>& values) override {
    return CopyVariablesToDevice(variables(), values);
  }
  const ExecutionPlan& plan(int program) const override {
    return planned_.programs[Index(program)].plan;
  }
  MemoryUse memory() const override;
  const CopyCounts& copies(int program) const override {
    return executors_[Index(program)]->copies();
  }

 private:
  size_t Index(int program) const {
    const auto index = static_cast<size_t>(program);
    SPILLWAY_CHECK(program >= 0 && index < planned_.programs.size());
    return index;
  }
  VariableAccess variables() {
    return {.programs = &planned_,
            .device_arena = &device_arena_,
            .stream = stream_.get()};
  }
  absl::Status PrepareChecks();
  absl::StatusOr<StepResult> Fetch(const PlannedProgram& program);
  int64_t MeasuredBytes(Space space) const;

  const SessionOptions options_;
  const std::unique_ptr<Device> device_;
  const PlannedPrograms planned_;
  std::vector<int64_t> steps_run_;  // by program
  Arena device_arena_;
  Arena host_arena_;
  std::optional<CheckedMemory> checked_memory_;  // with check_memory
  std::unique_ptr<Stream> stream_;               // for variables and fetches
  std::vector<std::unique_ptr<Executor>> executors_;  // by program
  int64_t allocations_before_steps_ = 0;
};

absl::Status SessionImpl::Allocate() {
  SPILLWAY_ASSIGN_OR_RETURN(
      device_arena_,
      Arena::Create(*device_, MemorySpace::kDevice, planned_.device_bytes));
  SPILLWAY_ASSIGN_OR_RETURN(
      host_arena_,
      Arena::Create(*device_, MemorySpace::kHost, planned_.host_bytes));
  SPILLWAY_ASSIGN_OR_RETURN(stream_, device_->NewStream({.name = "session"}));
  if (options_.check_memory) SPILLWAY_RETURN_IF_ERROR(PrepareChecks());
  SPILLWAY_RETURN_IF_ERROR(InitializeResidents(variables(), options_.seed));
  for (const PlannedProgram& program : planned_.programs) {
    SPILLWAY_ASSIGN_OR_RETURN(
        std::unique_ptr<Executor> executor,
        Executor::Create(
            {.graph = &program.graph,
             .plan = &program.plan,
             .kernels = &program.kernels,
             .device = device_.get(),
             .device_arena = &device_arena_,
             .host_arena = &host_arena_,
             .checked_memory = checked_memory_ ? &*checked_memory_ : nullptr,
             .ops = options_.ops,
             .capture_steps = options_.capture_steps}));
    executors_.push_back(std::move(executor));
  }
  allocations_before_steps_ = device_->allocations();
  return absl::OkStatus();
}

absl::Status SessionImpl::PrepareChecks() {
  CheckedMemorySpec spec = {.device = device_.get(),
                            .device_arena = &device_arena_,
                            .host_arena = &host_arena_};
  for (const Resident& resident : planned_.residents) {
    spec.residents.push_back({.name = resident.name,
                              .kind = resident.is_variable
                                          ? BufferKind::kVariable
                                          : BufferKind::kConstant,
                              .offset = resident.offset,
                              .bytes = resident.type.num_bytes()});
  }
  SPILLWAY_ASSIGN_OR_RETURN(checked_memory_, CheckedMemory::Create(spec));
  return absl::OkStatus();
}

absl::StatusOr<StepResult> SessionImpl::Step(int program, const Feeds& feeds,
                                             Timeline* timeline) {
  const size_t index = Index(program);
  const PlannedProgram& planned = planned_.programs[index];
  SPILLWAY_RETURN_IF_ERROR(CheckFeeds(planned, feeds));
  RunOptions options = {
      .seed = options_.seed, .step = steps_run_[index], .timeline = timeline};
  for (const auto& [id, feed] : feeds) options.feeds[id] = feed.data;
  SPILLWAY_RETURN_IF_ERROR(executors_[index]->RunStep(options));
  ++steps_run_[index];
  return Fetch(planned);
}

absl::StatusOr<StepResult> SessionImpl::Fetch(const PlannedProgram& program) {
  StepResult result;
  absl::Status copied;
  for (const ValueId id : program.plan.fetches) {
    const Buffer& buffer = program.plan.buffers[program.plan.buffer_of[id]];
    HostTensor& fetched = result.fetched[id];
    fetched.type = program.graph.type(id);
    fetched.bytes.resize(static_cast<size_t>(buffer.bytes));
    copied.Update(stream_->CopyToHost(
        fetched.bytes.data(), device_arena_.Use(buffer.offset, buffer.bytes),
        buffer.bytes));
  }
  copied.Update(stream_->Synchronize());
  if (checked_memory_) checked_memory_->EndAll();
  SPILLWAY_RETURN_IF_ERROR(copied);
  return result;
}

int64_t SessionImpl::MeasuredBytes(Space space) const {
  if (checked_memory_) return checked_memory_->high_water_bytes(space);
  return space == Space::kDevice ? device_arena_.high_water_bytes()
                                 : host_arena_.high_water_bytes();
}

MemoryUse SessionImpl::memory() const {
  int64_t staging_bytes = 0;
  for (const auto& executor : executors_) {
    staging_bytes += executor->staging_bytes();
  }
  return {.predicted_device_bytes = planned_.device_bytes,
          .measured_device_bytes = MeasuredBytes(Space::kDevice),
          .predicted_host_bytes = planned_.host_bytes,
          .measured_host_bytes = MeasuredBytes(Space::kHost),
          .staging_bytes = staging_bytes,
          .driver_device_bytes = device_->DriverBytesTaken(),
          .allocations_in_steps =
              device_->allocations() - allocations_before_steps_};
}

// FNV-1a, 64 bits.
class Fnv1a {
 public:
  void Add(const void* data, size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < size; ++i) {
      hash_ = (hash_ ^ bytes[i]) * 0x100000001B3u;
    }
  }
  // With a final zero, so that "ab" + "c" differs from "a" + "bc".
  void Add(const std::string& text) { Add(text.c_str(), text.size() + 1); }

  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = 0xCBF29CE484222325u;
};

}  // namespace

float StepResult::scalar(ValueId id) const {
  const auto found = fetched.find(id);
  SPILLWAY_CHECK(found != fetched.end());
  SPILLWAY_CHECK(found->second.type.dtype == DType::kFloat32);
  return found->second.data<float>()[0];
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(
    std::vector<Program> programs, std::unique_ptr<Device> device,
    const SessionOptions& options) {
  SPILLWAY_CHECK(device != nullptr);
  SPILLWAY_CHECK(options.ops != nullptr && options.kernels != nullptr);
  SPILLWAY_ASSIGN_OR_RETURN(
      PlannedPrograms planned,
      PlanPrograms(std::move(programs), device->kind(), options));
  return CreateSession(std::move(planned), std::move(device), options);
}

absl::StatusOr<std::unique_ptr<Session>> CreateSession(
    PlannedPrograms planned, std::unique_ptr<Device> device,
    const SessionOptions& options) {
  SPILLWAY_CHECK(device != nullptr);
  SPILLWAY_RETURN_IF_ERROR(CheckFits(planned, *device));
  auto session = std::make_unique<SessionImpl>(std::move(device),
                                               std::move(planned), options);
  SPILLWAY_RETURN_IF_ERROR(session->Allocate());
  return session;
}

std::string Checksum(const std::map<std::string, HostTensor>& variables) {
  Fnv1a hash;
  for (const auto& [name, value] : variables) {
    hash.Add(name);
    hash.Add(value.type.ToString());
    hash.Add(value.bytes.data(), value.bytes.size());
  }
  return fmt::format("{:016x}", hash.hash());
}

}  // namespace spillway
