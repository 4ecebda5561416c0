// Session: a graph, its variables and a device; steps with feeds and fetches.
//
// A session holds one or more programs (graphs) over the same variables: a
// training graph and an evaluation graph of the same network, say. Programs
// share variables by node name and one arena, whose size is the largest plan.
// All memory is decided and allocated in Create; a step allocates none.
// Threads: one caller at a time.
//
// The state of a session is its variables and a step number for each program.
// A program's step number is the number of steps that it has completed; it is
// what the random ops of its next step (Dropout) draw from, with the seed and
// their name. Each program counts its own steps, so training is bitwise
// identical with and without evaluation steps in between. To resume later, save
// the step numbers with the variables (training/checkpoint.h does).
//
// After an error. What is refused before anything has run (a feed, for its type
// or for a label out of range; a program's index; a value of another type)
// leaves the session as it was: the next step may follow. Any other error
// of Step or WriteVariables leaves the variables undefined, as some may have
// been updated and others not: from then on Step and ReadVariables return
// FAILED_PRECONDITION with the text of that error, until WriteVariables has
// written every variable, in one call or several (loading a checkpoint does).
// The step number does not count a step that failed.
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

// One graph to run, edited by LMS or not, and what its steps return.
struct Program {
  Graph graph = {};
  std::vector<ValueId> fetches = {};
  // None: as SessionOptions::schedule says.
  std::optional<TimedSchedule> order = {};
  // Which of its algorithms each kernel takes. Results may differ in rounding
  // between algorithms, never between plans that take the same.
  AlgorithmNames algorithms = {};
};

struct SessionOptions {
  // Borrowed for the life of the session. The standard ones need
  // spillway::ops to be linked; who links without it names both.
  const OpRegistry* ops = &StandardOps();
  const KernelRegistry* kernels = &StandardKernels();
  std::optional<int64_t> device_memory =
      {};  // bytes; none: as little as possible
  std::optional<int64_t> host_memory = {};  // bytes of the swap pool
  ScheduleKind schedule = ScheduleKind::kAuto;
  // That kernels on the host compute with: part of what they compute, as sums
  // are split by it, so another number of threads may give other bits. 0: the
  // device's (DeviceOptions::threads). Another number than the device's is
  // refused.
  int threads = 0;
  MathOptions math = {};
  uint64_t seed = 0;  // of initialisers and dropout
  // Variables, or scopes of them ("eval" has eval/w), that only a later program
  // than the first may have. Others are refused: a variable that the first
  // program lacks is mostly one whose name differs.
  std::vector<std::string> own_variables = {};
  // Checks every access of every step (executor/checked/checked_executor.h) and
  // measures memory from its bytes. Slower; only where the host can address the
  // device's memory, else UNIMPLEMENTED.
  bool check_memory = false;
  // Steps are launched as one piece of captured work, a graph of the device,
  // instead of piece by piece; bits are the same (ExecutorSpec::capture_steps).
  // UNIMPLEMENTED on devices that have none.
  bool capture_steps = false;
};

struct MemoryUse {
  int64_t predicted_device_bytes = 0;  // the plans'
  // Highest byte handed to a kernel or copy; with check_memory, highest byte
  // that is not as it was filled before the first step.
  int64_t measured_device_bytes = 0;
  int64_t predicted_host_bytes = 0;
  int64_t measured_host_bytes = 0;
  // Pinned host memory beside the swap pool, not within host_memory: for the
  // feeds of one step of each program and the step's number. 0 where the host
  // can write the device's memory.
  int64_t staging_bytes = 0;
  // What the driver says that the device has less free than when it was opened:
  // the arena, and what libraries took. None where it does not say.
  std::optional<int64_t> driver_device_bytes = {};
  int64_t allocations_in_steps = 0;  // by the device, since Create returned
};

class Session {
 public:
  // Plans, verifies, allocates, and initialises the variables from their
  // `initializer` attribute (see ops/array/variable.h). `device` is taken over.
  // Errors: INVALID_ARGUMENT for options, registries, graphs or programs that
  // cannot be; RESOURCE_EXHAUSTED as CompilePlan says, before anything was
  // allocated; UNIMPLEMENTED for an op without a kernel.
  static absl::StatusOr<std::unique_ptr<Session>> Create(
      std::vector<Program> programs, std::unique_ptr<Device> device,
      const SessionOptions& options);

  virtual ~Session() = default;

  virtual int num_programs() const = 0;

  // Runs one step of programs[program] and returns its fetches. Errors:
  // INVALID_ARGUMENT for a program that there is not, or naming a feed that is
  // missing, unknown, of another type, or has an element that its readers
  // cannot index by (executor/session/feed_limits.h): nothing has run.
  // FAILED_PRECONDITION after an error that left the variables undefined.
  // INTERNAL naming the node whose kernel failed or threw; with check_memory,
  // for what was found.
  virtual absl::StatusOr<StepResult> Step(int program, const Feeds& feeds,
                                          Timeline* timeline = nullptr) = 0;
  absl::StatusOr<StepResult> Step(const Feeds& feeds) { return Step(0, feeds); }

  // Pinned memory of the size of one feed of a program, for the caller to make
  // the feed in: one whose data is this pointer goes to the device from where
  // it lies, others are copied there first. The same for the life of the
  // session; not read after Step has returned. Null where feeds are not copied,
  // as the device reads the host's memory, for a value that is not fed, and for
  // a program that there is not.
  virtual std::byte* FeedBuffer(int program, ValueId placeholder) = 0;

  // Names and types of all variables, in name order.
  virtual const std::map<std::string, TensorType>& variable_types() const = 0;
  // All variables by node name, in name order. Errors: FAILED_PRECONDITION
  // while they are undefined.
  virtual absl::StatusOr<std::map<std::string, HostTensor>> ReadVariables() = 0;
  // Overwrites the variables named; unknown names and other types are refused
  // before anything is written.
  virtual absl::Status WriteVariables(
      const std::map<std::string, HostTensor>& values) = 0;

  // The step number of each program.
  virtual const std::vector<int64_t>& step_numbers() const = 0;
  // Errors: INVALID_ARGUMENT for another number of programs or a negative step
  // number; nothing is changed then.
  virtual absl::Status SetStepNumbers(const std::vector<int64_t>& numbers) = 0;

  // Null for a program that there is not. Valid for the life of the session.
  virtual const ExecutionPlan* plan(int program) const = 0;
  virtual const CopyCounts* copies(int program) const = 0;
  virtual MemoryUse memory() const = 0;
};

// FNV-1a over names, types and bytes, as 16 hex digits: equal if and (but for
// chance) only if the variables are bitwise equal.
std::string Checksum(const std::map<std::string, HostTensor>& variables);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SESSION_SESSION_H_
