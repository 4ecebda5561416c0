// The contract of plans, directly from the definitions: quadratic or worse,
// made of loops over all pairs, without any of the planner's code.
#ifndef SPILLWAY_TESTS_EXECUTOR_PLAN_NAIVE_PLAN_H_
#define SPILLWAY_TESTS_EXECUTOR_PLAN_NAIVE_PLAN_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway::testing {

// The node's step; invalid for nodes that are not in the plan.
StepId StepOf(const ExecutionPlan& plan, NodeId node);

// Buffers that the step reads, writes or uses as scratch; may contain
// duplicates.
std::vector<BufferId> BuffersOf(const Step& step);
bool Uses(const Step& step, BufferId buffer);
// The steps that use the buffer, ascending.
std::vector<StepId> UsesOf(const ExecutionPlan& plan, BufferId buffer);
bool IsFetched(const ExecutionPlan& plan, BufferId buffer);

// Whether the buffers share a byte of one space.
bool ShareBytes(const Buffer& a, const Buffer& b);

// Which steps are certainly done before which start, by lanes and waits alone.
class StepOrder {
 public:
  explicit StepOrder(const ExecutionPlan& plan);
  bool Before(StepId a, StepId b) const {
    return before_[a.index()][b.index()];
  }

 private:
  std::vector<std::vector<bool>> before_;
};

// The first step must be done before the second starts.
using StepPair = std::pair<StepId, StepId>;

// The pairs that the graph's edges require.
std::vector<StepPair> EdgePairs(const ExecutionPlan& plan, const Graph& graph);
// The pairs that shared bytes require: each use of a buffer, and the first use
// of a later buffer with some of its bytes.
std::vector<StepPair> ReusePairs(const ExecutionPlan& plan);

// From the first to the last use, fetched buffers to the end; empty for
// residents and for buffers without a use.
Interval NaiveLife(const ExecutionPlan& plan, BufferId buffer);

// Sum of the aligned buffers that are live at `at` by `life` (of all buffers),
// including residents.
int64_t NaiveLiveBytes(const ExecutionPlan& plan, Space space,
                       const IdMap<BufferId, Interval>& life, int64_t at);

// Empty if the plan satisfies executor/plan/verify_plan.h, else the violated
// rule. `ops` may differ from those that the plan was made with: a hand-written
// table detects wrong OpDefs.
std::string NaiveFault(const ExecutionPlan& plan, const Graph& graph,
                       const OpRegistry& ops,
                       const IdMap<NodeId, int64_t>* workspace_bytes = nullptr);

// Every field of the plan as text.
std::string PlanText(const ExecutionPlan& plan);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_EXECUTOR_PLAN_NAIVE_PLAN_H_
