// Serial orders of a plan's steps: what a single stream may do that keeps every
// wait and the order within each lane, and when each buffer lives in it.
//
// Between the two orders lies whatever several streams may do: copies run as
// late as the plan allows, or as early.
//
//   plan      compute  a b c d      copy out  [o after a, awaited by d]
//   late      a b c o d
//   early     a o b c d
#ifndef SPILLWAY_EXECUTOR_SERIAL_ORDER_H_
#define SPILLWAY_EXECUTOR_SERIAL_ORDER_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "executor/plan/plan.h"

namespace spillway {

enum class CopyTime : uint8_t {
  kLate,   // when a step that runs waits for it, or at the end
  kEarly,  // as soon as all it waits for has run
};

struct SerialOrder {
  std::vector<StepId> steps = {};
  // Buffers that the step is the first to write, and the last to use: a buffer
  // lives between them. By step, from the steps alone. Residents are in
  // neither, fetched buffers not in the second.
  IdMap<StepId, std::vector<BufferId>> begins = {};
  IdMap<StepId, std::vector<BufferId>> ends = {};
};

// Cost: O(steps + waits + uses). Waits of the plan point backwards (CHECKed).
SerialOrder MakeSerialOrder(const ExecutionPlan& plan, CopyTime copies);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SERIAL_ORDER_H_
