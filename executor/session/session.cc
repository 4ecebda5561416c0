#include "executor/session/session.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "comm/communicator.h"
#include "executor/arena.h"
#include "executor/checked/checked_memory.h"
#include "executor/host_threads.h"
#include "executor/session/feed_limits.h"
#include "executor/session/plan_programs.h"
#include "executor/session/variables.h"
#include "executor/session/verify_residents.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// Checked here to return the remedy, rather than failing in the allocation.
absl::Status CheckFits(const PlannedPrograms& planned, const Device& device) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t free_bytes, device.FreeBytes());
  if (planned.device_bytes <= free_bytes) return absl::OkStatus();
  return ResourceExhausted(fmt::format(
      "the step needs {} ({} bytes) of device memory; {} ({} bytes) of {} are "
      "free; set a device memory budget with LMS, or lower the batch size",
      FormatBytes(planned.device_bytes), planned.device_bytes,
      FormatBytes(free_bytes), free_bytes, device.name()));
}

absl::Status NoDevice() {
  return InvalidArgument(
      "the session's device is null; open one with NewDevice");
}

// Kernels' results may depend on their number of threads, so they must run with
// the number for which they were prepared.
absl::Status CheckThreads(const PlannedPrograms& planned,
                          const Device& device) {
  const std::optional<int> threads = device.kernel_threads();
  if (!threads || *threads == planned.threads) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "the session's kernels are for {}, but the device {} was opened "
      "with {}; give SessionOptions::threads and DeviceOptions::threads the "
      "same number, or leave the former 0",
      Counted(planned.threads, "thread"), device.name(), *threads));
}

absl::Status CheckFeed(const PlannedProgram& program, ValueId id,
                       const Feed& feed) {
  const Graph& graph = program.graph;
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
  absl::Status status = feed.Check(graph.type(id));
  const auto limit = program.feed_limits.find(id);
  if (status.ok() && limit != program.feed_limits.end()) {
    status = CheckRange(feed, graph.type(id), limit->second);
  }
  return Annotate(status, fmt::format("feed {}", node.name));
}

absl::Status CheckFeeds(const PlannedProgram& program, const Feeds& feeds) {
  const Graph& graph = program.graph;
  for (const auto& [id, feed] : feeds) {
    SPILLWAY_RETURN_IF_ERROR(CheckFeed(program, id, feed));
  }
  for (const spillway::Step& step : program.plan.steps) {
    if (step.kind != StepKind::kFeed) continue;
    if (feeds.contains(step.feed)) continue;
    return InvalidArgument(fmt::format("feed {} ({}) is missing",
                                       graph.producer(step.feed).name,
                                       graph.type(step.feed).ToString()));
  }
  return absl::OkStatus();
}

std::map<std::string, TensorType> VariableTypes(
    const PlannedPrograms& planned) {
  std::map<std::string, TensorType> types;
  for (const Resident& resident : planned.residents) {
    if (resident.is_state) types[resident.name] = resident.type;
  }
  return types;
}

// Whether the variables are defined; if not, the error that made them undefined
// and the variables that have not been written since.
class VariableState {
 public:
  // FAILED_PRECONDITION while the variables are undefined.
  absl::Status Check() const {
    if (unwritten_.empty()) return absl::OkStatus();
    return FailedPrecondition(fmt::format(
        "the variables are undefined since an error: {}; write all of them or "
        "load a checkpoint ({} not written, the first is {})",
        std::string(error_.message()), unwritten_.size(), *unwritten_.begin()));
  }

  // Makes all variables undefined. Keeps the first error.
  void Break(const absl::Status& error,
             const std::map<std::string, TensorType>& variables) {
    if (unwritten_.empty()) error_ = error;
    for (const auto& [name, type] : variables) unwritten_.insert(name);
  }

  void MarkWritten(const std::map<std::string, HostTensor>& values) {
    for (const auto& [name, value] : values) unwritten_.erase(name);
  }

 private:
  absl::Status error_;
  std::set<std::string> unwritten_;  // empty: the variables are defined
};

class SessionImpl final : public Session {
 public:
  SessionImpl(std::unique_ptr<Device> device, PlannedPrograms planned,
              const SessionOptions& options)
      : options_(options),
        device_(std::move(device)),
        planned_(std::move(planned)),
        host_threads_(planned_.threads),
        variable_types_(VariableTypes(planned_)),
        step_numbers_(planned_.programs.size(), 0) {}

  absl::Status Allocate();

  int num_programs() const override {
    return static_cast<int>(planned_.programs.size());
  }
  absl::StatusOr<StepResult> Step(int program, const Feeds& feeds,
                                  Timeline* timeline) override;
  std::byte* FeedBuffer(int program, ValueId placeholder) override {
    if (!HasProgram(program)) return nullptr;
    return executors_[Index(program)]->feed_buffer(placeholder);
  }
  const std::map<std::string, TensorType>& variable_types() const override {
    return variable_types_;
  }
  absl::StatusOr<std::map<std::string, HostTensor>> ReadVariables() override {
    SPILLWAY_RETURN_IF_ERROR(variable_state_.Check());
    return CopyVariablesToHost(variables());
  }
  absl::Status WriteVariables(
      const std::map<std::string, HostTensor>& values) override {
    return Write(variables(), values);
  }
  absl::StatusOr<std::map<std::string, HostTensor>> ReadAllVariables()
      override {
    SPILLWAY_RETURN_IF_ERROR(variable_state_.Check());
    return CopyVariablesToHost(all_variables());
  }
  absl::Status WriteAllVariables(
      const std::map<std::string, HostTensor>& values) override {
    return Write(all_variables(), values);
  }
  const std::vector<int64_t>& step_numbers() const override {
    return step_numbers_;
  }
  absl::Status SetStepNumbers(const std::vector<int64_t>& numbers) override;
  const ExecutionPlan* plan(int program) const override {
    if (!HasProgram(program)) return nullptr;
    return &planned_.programs[Index(program)].plan;
  }
  const CopyCounts* copies(int program) const override {
    if (!HasProgram(program)) return nullptr;
    return &executors_[Index(program)]->copies();
  }
  MemoryUse memory() const override;

 private:
  static size_t Index(int program) { return static_cast<size_t>(program); }
  bool HasProgram(int program) const {
    return program >= 0 && program < num_programs();
  }
  VariableAccess variables() {
    return {.programs = &planned_,
            .device_arena = &device_arena_,
            .host_arena = &host_arena_,
            .stream = stream_.get(),
            .threads = &host_threads_};
  }
  VariableAccess all_variables() {
    VariableAccess all = variables();
    all.includes_unsaved = true;
    return all;
  }
  absl::Status Write(const VariableAccess& access,
                     const std::map<std::string, HostTensor>& values);
  absl::Status PrepareChecks();
  static StepResult RoomForFetches(const PlannedProgram& program);
  absl::Status RunAndFetch(size_t program, const RunOptions& options,
                           StepResult& result);
  absl::Status Fetch(const PlannedProgram& program, StepResult& result);
  int64_t MeasuredBytes(Space space) const;

  const SessionOptions options_;
  const std::unique_ptr<Device> device_;
  const PlannedPrograms planned_;
  HostThreads host_threads_;
  const std::map<std::string, TensorType> variable_types_;
  VariableState variable_state_;
  std::vector<int64_t> step_numbers_;  // by program
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
             .host_threads = &host_threads_,
             .checked_memory = checked_memory_ ? &*checked_memory_ : nullptr,
             .ops = options_.ops,
             .communicator = options_.communicator,
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
                              .space = resident.space,
                              .offset = resident.offset,
                              .bytes = resident.type.num_bytes()});
  }
  SPILLWAY_ASSIGN_OR_RETURN(checked_memory_, CheckedMemory::Create(spec));
  return absl::OkStatus();
}

absl::StatusOr<StepResult> SessionImpl::Step(int program, const Feeds& feeds,
                                             Timeline* timeline) {
  if (!HasProgram(program)) {
    return InvalidArgument(fmt::format("there is no program {}; there are {}",
                                       program, num_programs()));
  }
  const size_t index = Index(program);
  const PlannedProgram& planned = planned_.programs[index];
  SPILLWAY_RETURN_IF_ERROR(variable_state_.Check());
  SPILLWAY_RETURN_IF_ERROR(CheckFeeds(planned, feeds));
  RunOptions options = {.seed = options_.seed,
                        .step = step_numbers_[index],
                        .timeline = timeline};
  for (const auto& [id, feed] : feeds) options.feeds[id] = feed.data();
  // Before anything runs, since it may run out of memory.
  StepResult result = RoomForFetches(planned);
  const absl::Status status = RunAndFetch(index, options, result);
  if (!status.ok()) {
    variable_state_.Break(status, variable_types_);
    // The other ranks need not wait until they time out.
    if (options_.communicator != nullptr) options_.communicator->Abort(status);
    return status;
  }
  ++step_numbers_[index];
  return result;
}

absl::Status SessionImpl::RunAndFetch(size_t program, const RunOptions& options,
                                      StepResult& result) {
  SPILLWAY_RETURN_IF_ERROR(executors_[program]->RunStep(options));
  return Fetch(planned_.programs[program], result);
}

StepResult SessionImpl::RoomForFetches(const PlannedProgram& program) {
  StepResult result;
  for (const ValueId id : program.plan.fetches) {
    HostTensor& fetched = result.fetched[id];
    fetched.type = program.graph.type(id);
    fetched.bytes.resize(static_cast<size_t>(fetched.type.num_bytes()));
  }
  return result;
}

absl::Status SessionImpl::Fetch(const PlannedProgram& program,
                                StepResult& result) {
  absl::Status copied;
  for (auto& [id, fetched] : result.fetched) {
    const Buffer& buffer = program.plan.buffers[program.plan.buffer_of[id]];
    copied.Update(CopyToCaller(
        variables(),
        {.space = buffer.space, .offset = buffer.offset, .bytes = buffer.bytes},
        fetched.bytes.data()));
  }
  copied.Update(stream_->Synchronize());
  if (checked_memory_) checked_memory_->EndAll();
  return copied;
}

absl::Status SessionImpl::Write(
    const VariableAccess& access,
    const std::map<std::string, HostTensor>& values) {
  SPILLWAY_RETURN_IF_ERROR(CheckVariableValues(access, values));
  const absl::Status written = CopyVariablesToDevice(access, values);
  if (written.ok()) {
    variable_state_.MarkWritten(values);
  } else {
    variable_state_.Break(written, variable_types_);
  }
  return written;
}

absl::Status SessionImpl::SetStepNumbers(const std::vector<int64_t>& numbers) {
  if (numbers.size() != planned_.programs.size()) {
    return InvalidArgument(fmt::format(
        "{} for a session of {}", Counted(numbers.size(), "step number"),
        Counted(planned_.programs.size(), "program")));
  }
  for (const int64_t number : numbers) {
    if (number < 0) {
      return InvalidArgument(
          fmt::format("a step number must be 0 or more, not {}", number));
    }
  }
  step_numbers_ = numbers;
  return absl::OkStatus();
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
  // With the final zero, so that "ab" + "c" differs from "a" + "bc".
  void Add(const std::string& text) { Add(text.c_str(), text.size() + 1); }

  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = 0xCBF29CE484222325u;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Create(
    std::vector<Program> programs, std::unique_ptr<Device> device,
    const SessionOptions& options) {
  if (device == nullptr) return NoDevice();
  SessionOptions resolved = options;
  if (options.threads == 0) {
    resolved.threads = device->kernel_threads().value_or(0);
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      PlannedPrograms planned,
      PlanPrograms(std::move(programs), device->kind(), resolved));
  return CreateSession(std::move(planned), std::move(device), resolved);
}

absl::StatusOr<std::unique_ptr<Session>> CreateSession(
    PlannedPrograms planned, std::unique_ptr<Device> device,
    const SessionOptions& options) {
  if (device == nullptr) return NoDevice();
  SPILLWAY_RETURN_IF_ERROR(VerifyResidents(planned));
  SPILLWAY_RETURN_IF_ERROR(CheckThreads(planned, *device));
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
