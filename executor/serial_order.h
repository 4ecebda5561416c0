// Serial orders of a plan's steps: orders for a single stream that respect
// every wait and the order within each lane, and the lifetime of each buffer in
// them.
//
// The two orders are the extremes of what several streams may do: copies run as
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
  kLate,   // when a waiting step needs it, or at the end
  kEarly,  // as soon as its waits allow
};

struct SerialOrder {
  std::vector<StepId> steps = {};
  // Buffers that the step is the first to write, and the last to use: a buffer
  // lives between them. By step, derived from the steps alone. Residents are in
  // neither map, fetched buffers not in `ends`.
  IdMap<StepId, std::vector<BufferId>> begins = {};
  IdMap<StepId, std::vector<BufferId>> ends = {};
};

// Cost: O(steps + waits + uses). Waits of the plan must point backwards
// (CHECKed).
SerialOrder MakeSerialOrder(const ExecutionPlan& plan, CopyTime copies);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_SERIAL_ORDER_H_
