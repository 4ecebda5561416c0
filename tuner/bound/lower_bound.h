// The least time that a step can take under a memory budget, whatever is
// swapped and when.
//
// While a step k runs that would have D(k) bytes too many on the device,
// tensors of at least D(k) bytes are elsewhere. Those among them that were
// written up to step i can have left before; all others leave after i has ended
// and before k starts. So
//
//   start(k) >= end(i) + (D(k) - bytes written up to i) / rate to the host
//
// for every i before k, and likewise for the way back: by the start of any
// later step j, all of the D(k) bytes have returned but those that are read
// after j. Since only whole tensors move, the bytes in question are rounded up
// to a sum of whole tensors' (whole_tensors.h). With the times of the kernels,
// which run one after the other, these are the edges of a graph whose longest
// path is the bound. It holds for all choices of tensors and times in the given
// order of the kernels. For that,
// - an output that could overwrite an input does not count at its kernel, since
//   a tensor may come back only to be overwritten there;
// - a fed tensor need not have left, since the caller has its bytes: it may
// come
//   late, or again;
// - an alias waits for nothing, so only kernels count as readers and writers.
#ifndef SPILLWAY_TUNER_BOUND_LOWER_BOUND_H_
#define SPILLWAY_TUNER_BOUND_LOWER_BOUND_H_

#include <cstdint>
#include <string>

#include "simulator/device_profile.h"
#include "tuner/model/step_model.h"

namespace spillway {

struct StepTimeBound {
  int64_t step_ns = 0;
  // All kernels: the compute lane is idle for the rest of step_ns.
  int64_t kernels_ns = 0;
  // Waits on the longest path: for bytes that leave, for bytes that arrive, and
  // for the host to issue a kernel. Other kernels may run meanwhile.
  int64_t out_ns = 0;
  int64_t in_ns = 0;
  int64_t issue_ns = 0;
  // The most bytes that have to be elsewhere at one step.
  int64_t most_bytes_away = 0;
};

// "compute" where the compute lane is idle for less than a twentieth of the
// step; else the longest wait: "copies to the host", "copies to the device" or
// "the host's calls".
std::string BoundReason(const StepTimeBound& bound);

// Cost: O(steps * tensors alive at a step) in the worst case.
StepTimeBound LowerBound(const StepModel& model, const DeviceProfile& profile,
                         int64_t budget_bytes);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_BOUND_LOWER_BOUND_H_
