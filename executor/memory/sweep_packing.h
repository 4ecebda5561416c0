// Packing from the fullest section outwards, in time O(n log n).
//
// The items of that section are stacked without holes. From there one sweep
// goes forward and one backward in time. Each sweep frees the items that end
// and puts those that begin into the smallest hole that is large enough.
//
//   bytes            [==f==]
//     |        [====e=====]  [=g=]
//     |    [=======d==========]          training: what the forward phase keeps
//     |  [=========b=============]       is nested about its end, so the stack
//     +----------------|-----------> t   shrinks from the top on both sides
//        <- sweep   fullest   sweep ->
#ifndef SPILLWAY_EXECUTOR_MEMORY_SWEEP_PACKING_H_
#define SPILLWAY_EXECUTOR_MEMORY_SWEEP_PACKING_H_

#include <cstdint>
#include <vector>

#include "executor/memory/packing_problem.h"

namespace spillway {

// Which item lies lowest in the fullest section.
enum class StackOrder : uint8_t {
  kLatestEnd,
  kEarliestBegin,
  kLongest,
  kLargest,
};

// Which of several items that begin together is placed first.
enum class ArrivalOrder : uint8_t { kLargest, kLongest };

struct SweepStyle {
  StackOrder stack = StackOrder::kLatestEnd;
  ArrivalOrder arrival = ArrivalOrder::kLargest;
};

// Offsets by item, in units. Gaps of items are ignored.
std::vector<int64_t> SweepFromPeak(const PackingProblem& problem,
                                   const SweepStyle& style);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_MEMORY_SWEEP_PACKING_H_
