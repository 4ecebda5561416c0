// EvalGraph: the naive twin of planner and executor. Runs the kernels of a
// graph node by node on the caller's thread, with every value in its own heap
// buffer (guarded, poisoned with NaNs); nothing is shared or freed early.
#ifndef SPILLWAY_TESTS_SUPPORT_EVAL_GRAPH_H_
#define SPILLWAY_TESTS_SUPPORT_EVAL_GRAPH_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "graph/graph.h"

namespace spillway::testing {

// The state that outlives a step.
struct EvalState {
  uint64_t seed = 0;
  int64_t step = 0;  // of the next call
  int threads = 1;
  // By node name; a missing variable gets its initial value.
  std::map<std::string, HostTensor> variables = {};
};

// One step on the CPU with StandardOps and StandardKernels: runs the nodes that
// `fetches` need and every node that overwrites a variable, lowest ready id
// first. Advances `state`: variables are written, the step is counted. Errors:
// as the executor's; INTERNAL if a kernel writes outside its buffers.
absl::StatusOr<std::map<ValueId, HostTensor>> EvalGraph(
    const Graph& graph, const std::map<ValueId, HostTensor>& feeds,
    std::span<const ValueId> fetches, EvalState& state);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_EVAL_GRAPH_H_
