// The two halves of Session::Create: planning, from programs to verified plans
// that share their variables, without a device; and creating the session that
// runs the plans.
#ifndef SPILLWAY_EXECUTOR_SESSION_PLAN_PROGRAMS_H_
#define SPILLWAY_EXECUTOR_SESSION_PLAN_PROGRAMS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/kernel_registry.h"
#include "executor/plan/plan.h"
#include "executor/session/feed_limits.h"
#include "executor/session/session.h"

namespace spillway {

struct PlannedProgram {
  Graph graph;
  KernelMap kernels = {};
  ExecutionPlan plan = {};
  FeedLimits feed_limits = {};
};

// Bytes of an arena that outlive a step: one entry for each variable that any
// program uses, and for each constant of each program.
struct Resident {
  std::string name;  // of the node
  bool is_variable = false;
  // A variable that is part of the session's state (ops/array/variable.h).
  bool is_state = false;
  TensorType type = {};
  Space space = Space::kDevice;
  int64_t offset = 0;
  size_t program = 0;  // the first that has it, and the node there
  NodeId node = {};
};

struct PlannedPrograms {
  std::vector<PlannedProgram> programs;
  std::vector<Resident> residents;
  int64_t device_bytes = 0;  // the largest of the plans
  int64_t host_bytes = 0;
  int threads = 0;  // for which the kernels were prepared
};

// INVALID_ARGUMENT for a graph without nodes, or naming a fetch that the graph
// does not have or that is a copy on the host.
absl::Status CheckProgram(const Program& program);

// Whether `own_variables` (SessionOptions::own_variables) has the variable
// `name` or a scope of it.
bool IsOwnVariable(std::string_view name,
                   const std::vector<std::string>& own_variables);

// Prefix of the names of the constants of programs[program] in the keys of
// residents (ResidentKey), since constants of different programs differ. No
// node name has a colon, so no prefixed name equals a variable's.
std::string ConstantPrefix(size_t program);

// Errors: INVALID_ARGUMENT for invalid options or registries, for an empty list
// of programs, for graphs that VerifyGraph refuses, for fetches that the graph
// does not have or that are copies on the host, for variables of equal name and
// different type or memory, and for a variable that only a later program has
// (SessionOptions::own_variables); UNIMPLEMENTED and RESOURCE_EXHAUSTED as
// PrepareKernels and CompilePlan.
absl::StatusOr<PlannedPrograms> PlanPrograms(std::vector<Program> programs,
                                             DeviceKind kind,
                                             const SessionOptions& options);

// `planned` must come from PlanPrograms for a device of this kind and the same
// options. Otherwise as Session::Create. Errors: RESOURCE_EXHAUSTED for plans
// larger than the device's free memory; INVALID_ARGUMENT for a null device or
// one with another number of threads; errors of the allocation.
absl::StatusOr<std::unique_ptr<Session>> CreateSession(
    PlannedPrograms planned, std::unique_ptr<Device> device,
    const SessionOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SESSION_PLAN_PROGRAMS_H_
