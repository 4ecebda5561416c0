// The longest path through a step: the inequalities of lower_bound.h, with less
// bytes to copy where clones may compute tensors again.
//
// Reference: lower_bound.h for swaps alone, joint_bound.h for clones.
#ifndef SPILLWAY_TUNER_BOUND_PATH_BOUND_H_
#define SPILLWAY_TUNER_BOUND_PATH_BOUND_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "simulator/device_profile.h"
#include "tuner/model/step_model.h"

namespace spillway {

// A time on the path, and its composition.
struct PathMoment {
  int64_t ns = 0;
  int64_t out_ns = 0;    // of it, waiting for copies to the host
  int64_t in_ns = 0;     // of it, waiting for copies to the device
  int64_t issue_ns = 0;  // of it, waiting for the host to issue a kernel
  // The step whose excess bytes caused the last wait for a copy; -1: none.
  int32_t step = -1;
};

// An upper bound on the exact bytes that are absent at `step` and that clones
// compute again, in every plan that is considered. `start_ns`: when the step
// starts at the earliest.
using MostRecomputedBytes =
    std::function<int64_t(int32_t step, int64_t start_ns)>;

// Borrows everything for the call.
struct PathInputs {
  const StepModel& model;
  const DeviceProfile& profile;
  int64_t budget_bytes = 0;
  MostRecomputedBytes most_recomputed_bytes = {};  // empty: no clones
  // Rounds bytes up to sums of whole tensors' sizes (whole_tensors.h), which
  // takes most of the time.
  bool rounds_to_whole_tensors = true;
};

struct StepPath {
  // By step: when it starts and ends at the earliest. Feeds and aliases take no
  // time here.
  std::vector<PathMoment> starts = {};
  std::vector<PathMoment> ends = {};
  PathMoment end = {};
  // The most aligned bytes that must be off the device at one kernel.
  int64_t most_bytes_away = 0;
};

// Cost: O(steps * tensors alive at a step) in the worst case.
StepPath LongestPath(const PathInputs& inputs);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_BOUND_PATH_BOUND_H_
