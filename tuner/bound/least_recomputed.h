// The cut test: what the time before and after one kernel says about a plan of
// at most a given time.
//
//            start                       end of the step
//     -- before --|-- kernel --|-- after --
//      s bytes     D bytes are   the s bytes return; clones compute
//      have left     absent      the other r = D - s again
//
// If all plans of that time have at least D absent bytes at the kernel, then
//
//   max(start, out + s / rate out) + kernel
//       + max(after + least time to compute r bytes, in + s / rate in) <= time
//
// for some s in [0, D]. The left side is convex in s, so the solutions are an
// interval: its upper end is the most that can be swapped. joint_bound.h has
// the proof.
#ifndef SPILLWAY_TUNER_BOUND_LEAST_RECOMPUTED_H_
#define SPILLWAY_TUNER_BOUND_LEAST_RECOMPUTED_H_

#include <cstdint>
#include <optional>

#include "tuner/bound/recompute_knapsack.h"

namespace spillway {

// Bytes per nanosecond; both 0: nothing is copied.
struct LinkRates {
  double out = 0;
  double in = 0;
};

// Borrows the knapsack.
struct Cut {
  int64_t absent_bytes = 0;  // at least, while the kernel runs (> 0)
  int64_t start_ns = 0;      // of the kernel, at the earliest
  int64_t kernel_ns = 0;
  int64_t after_ns = 0;  // of the kernels after it
  // s bytes have left at out_ns + s / rate out, at the earliest; never more
  // than start_ns.
  double out_ns = 0;
  // The step ends at least in_ns + s / rate in after the kernel, if s bytes
  // return; never more than after_ns.
  double in_ns = 0;
  // Of the absent tensors that clones can compute again.
  const RecomputeKnapsack& remakes;
};

// The least bytes that clones compute again in every plan of at most `step_ns`;
// nullopt: there is no such plan.
std::optional<int64_t> LeastRecomputedBytes(const Cut& cut,
                                            const LinkRates& rates,
                                            int64_t step_ns);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_BOUND_LEAST_RECOMPUTED_H_
