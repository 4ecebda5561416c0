// Session: a graph, its variables and a device; runs steps with feeds and
// fetches.
//
// A session holds one or more programs (graphs) over the same variables, for
// example a training graph and an evaluation graph of the same network.
// Programs share variables by node name, and one arena, whose size is the
// largest plan. Create plans and allocates all memory; a step allocates none.
// Threads: one caller at a time.
//
// The state of a session is its variables (but for those that say otherwise,
// see ops/array/variable.h) and a step number for each program. A
// program's step number is the number of steps that it has completed. The
// random ops of its next step (Dropout) draw from it, the seed and their name.
// Each program counts its own steps, so training is bitwise identical with and
// without evaluation steps in between. To resume later, save the step numbers
// with the variables (training/checkpoint.h does).
//
// After an error: a call that is refused before anything has run (a feed of the
// wrong type or with a label out of range; an invalid program index; a value of
// another type) leaves the session unchanged, and the next step may follow. Any
// other error of Step or WriteVariables leaves the variables undefined, as some
// may have been updated and others not. From then on Step and ReadVariables
// return FAILED_PRECONDITION with the text of that error, until WriteVariables
// has written every variable, in one call or several (as loading a checkpoint
// does). The step number does not count a step that failed.
#ifndef SPILLWAY_EXECUTOR_SESSION_SESSION_H_
#define SPILLWAY_EXECUTOR_SESSION_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/trace/timeline.h"
#include "executor/device/device.h"
#include "executor/executor.h"
#include "executor/kernel_registry.h"
#include "executor/plan/choose_schedule.h"
#include "executor/plan/compile_options.h"
#include "executor/plan/plan.h"
#include "executor/session/feed.h"
#include "executor/session/step_result.h"
#include "executor/standard_kernels.h"
#include "executor/tensor.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/standard_ops.h"

namespace spillway {

class Communicator;  // comm/communicator.h

// One graph to run, with or without LMS swaps, and the fetches of its steps.
struct Program {
  Graph graph = {};
  std::vector<ValueId> fetches = {};
  // Nothing: as SessionOptions::schedule says.
  std::optional<TimedSchedule> order = {};
  // Which of its algorithms each kernel uses. Results may differ in rounding
  // between algorithms, never between plans with the same algorithms.
  AlgorithmNames algorithms = {};
};

struct SessionOptions {
  // Borrowed for the lifetime of the session. The standard registries need
  // spillway::ops to be linked; without it, set both.
  const OpRegistry* ops = &StandardOps();
  const KernelRegistry* kernels = &StandardKernels();
  std::optional<int64_t> device_memory =
      {};  // bytes; none: as little as possible
  std::optional<int64_t> host_memory = {};  // bytes of the swap pool
  ScheduleKind schedule = ScheduleKind::kAuto;
  // Threads of kernels on the host. Sums are split by the number of threads, so
  // results for different numbers may differ in rounding. 0: the device's
  // number (DeviceOptions::threads). Any number other than the device's is
  // refused.
  int threads = 0;
  MathOptions math = {};
  uint64_t seed = 0;  // of initialisers and dropout
  // Variables, or scopes of them ("eval" contains eval/w), that the first
  // program may lack. Other variables that the first program lacks are refused:
  // most likely their names are mistaken.
  std::vector<std::string> own_variables = {};
  // Checks every access of every step (executor/checked/checked_executor.h) and
  // measures memory from its bytes. Slower. UNIMPLEMENTED unless the host can
  // address the device's memory.
  bool check_memory = false;
  // Steps are launched as one piece of captured work, a graph of the device,
  // instead of piece by piece; results are bitwise identical
  // (ExecutorSpec::capture_steps). UNIMPLEMENTED on devices without graphs.
  bool capture_steps = false;
  // The ranks that collectives (AllReduce) work with; programs that have some
  // need it. Only steps use it, and only its owner between steps. All ranks run
  // the same programs, with the same number of steps of each. Borrowed for the
  // lifetime of the session.
  Communicator* communicator = nullptr;
};

struct MemoryUse {
  int64_t predicted_device_bytes = 0;  // those of the plans
  // Highest byte handed to a kernel or copy; with check_memory, highest byte
  // that differs from its fill before the first step.
  int64_t measured_device_bytes = 0;
  int64_t predicted_host_bytes = 0;
  int64_t measured_host_bytes = 0;
  // Pinned host memory in addition to the swap pool and host_memory: for the
  // feeds of one step of each program and the step number. 0 if the host can
  // write the device's memory.
  int64_t staging_bytes = 0;
  // By how much the driver's free memory of the device has shrunk since it was
  // opened: the arena, and memory of libraries. Nothing if the driver does not
  // report it.
  std::optional<int64_t> driver_device_bytes = {};
  int64_t allocations_in_steps = 0;  // by the device, since Create returned
};

class Session {
 public:
  // Plans, verifies, allocates, and initialises the variables from their
  // `initializer` attribute (see ops/array/variable.h). Takes ownership of
  // `device`. Errors: INVALID_ARGUMENT for invalid options, registries, graphs
  // or programs; RESOURCE_EXHAUSTED as CompilePlan, before any allocation;
  // UNIMPLEMENTED for an op without a kernel.
  static absl::StatusOr<std::unique_ptr<Session>> Create(
      std::vector<Program> programs, std::unique_ptr<Device> device,
      const SessionOptions& options);

  virtual ~Session() = default;

  virtual int num_programs() const = 0;

  // Runs one step of programs[program] and returns its fetches. Errors:
  // INVALID_ARGUMENT for a program that does not exist, or naming a feed that
  // is missing, unknown, of another type, or has an element that is not a valid
  // index for its readers (executor/session/feed_limits.h): nothing has run.
  // FAILED_PRECONDITION after an error that left the variables undefined.
  // INTERNAL naming the node whose kernel failed or threw; with check_memory,
  // for a fault that was found. Errors of the communicator.
  virtual absl::StatusOr<StepResult> Step(int program, const Feeds& feeds,
                                          Timeline* timeline = nullptr) = 0;
  absl::StatusOr<StepResult> Step(const Feeds& feeds) { return Step(0, feeds); }

  // Pinned memory of the size of one feed of a program, in which the caller may
  // prepare the feed: a feed whose data is this pointer goes to the device
  // directly, others are copied here first. The same for the lifetime of the
  // session; not read after Step has returned. Null if feeds are not copied
  // because the device can read the host's memory, for a value that is not fed,
  // and for a program that does not exist.
  virtual std::byte* FeedBuffer(int program, ValueId placeholder) = 0;

  // Names and types of all variables, in name order.
  virtual const std::map<std::string, TensorType>& variable_types() const = 0;
  // All variables by node name, in name order. Errors: FAILED_PRECONDITION
  // while they are undefined.
  virtual absl::StatusOr<std::map<std::string, HostTensor>> ReadVariables() = 0;
  // Overwrites the named variables; unknown names and other types are refused
  // before anything is written.
  virtual absl::Status WriteVariables(
      const std::map<std::string, HostTensor>& values) = 0;
  // The same with the variables that are not part of the state (sums of
  // gradients between two micro-batches, say), so that another session can
  // continue after any step.
  virtual absl::StatusOr<std::map<std::string, HostTensor>>
  ReadAllVariables() = 0;
  virtual absl::Status WriteAllVariables(
      const std::map<std::string, HostTensor>& values) = 0;

  // The step number of each program.
  virtual const std::vector<int64_t>& step_numbers() const = 0;
  // Errors: INVALID_ARGUMENT for another number of programs or a negative step
  // number; nothing is changed then.
  virtual absl::Status SetStepNumbers(const std::vector<int64_t>& numbers) = 0;

  // Null for a program that does not exist. Valid for the lifetime of the
  // session.
  virtual const ExecutionPlan* plan(int program) const = 0;
  virtual const CopyCounts* copies(int program) const = 0;
  virtual MemoryUse memory() const = 0;
};

// FNV-1a over names, types and bytes, as 16 hex digits: equal if, and with high
// probability only if, the variables are bitwise identical.
std::string Checksum(const std::map<std::string, HostTensor>& variables);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SESSION_SESSION_H_
