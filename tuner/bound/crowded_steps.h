// The kernels during which tensors must be absent from the device, since the
// live bytes exceed the budget, and the tensors that can be absent there.
#ifndef SPILLWAY_TUNER_BOUND_CROWDED_STEPS_H_
#define SPILLWAY_TUNER_BOUND_CROWDED_STEPS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "tuner/bound/recompute_knapsack.h"
#include "tuner/model/step_model.h"

namespace spillway {

// No node can compute the bytes a second time.
inline constexpr int64_t kCannotRemake = std::numeric_limits<int64_t>::max();

// The tensors that were written before `written` have `earlier_bytes` together.
struct WrittenBytes {
  int32_t written = 0;
  int64_t earlier_bytes = 0;
};

struct CrowdedStep {
  int32_t step = 0;
  // At least the exact bytes that are absent while the kernel runs (> 0).
  int64_t absent_bytes = 0;
  int64_t after_ns = 0;  // of the kernels after it
  // See Cut::in_ns. Minus infinity: no kernel waits for a copy.
  double in_ns = -std::numeric_limits<double>::infinity();
  // The gaps around the step that clones can fill, cheapest first, and what
  // each contributes to absent_bytes at most.
  std::vector<int32_t> gaps = {};
  std::vector<RemakeItem> remakes = {};
  // Of all gaps around the step, by different steps in which they are written.
  // Feeds have left from the start.
  std::vector<WrittenBytes> written = {};
};

struct Crowd {
  std::vector<CrowdedStep> steps = {};
  bool has_all = true;  // false: some steps were left out
  // The step at which absent_bytes exceeds what can be absent by the most, and
  // by how much; 0: nowhere.
  int32_t impossible_step = -1;
  int64_t impossible_bytes = 0;
};

// Borrows everything for the call.
struct CrowdInputs {
  const StepModel& model;
  // By gap; kCannotRemake if no clone can fill it.
  const std::vector<int64_t>& remake_ns;
  int64_t budget_bytes = 0;
  // Of copies to the device; 0: nothing is copied.
  double in_rate = 0;
  // If the crowded steps have more gaps together, each block of consecutive
  // ones has only its most crowded step.
  int64_t most_gaps = int64_t{1} << 20;
};

// Cost: O(gaps log gaps + steps * tensors alive at a step + most_gaps log).
Crowd FindCrowdedSteps(const CrowdInputs& inputs);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_BOUND_CROWDED_STEPS_H_
