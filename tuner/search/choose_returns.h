// When moved tensors come back: just early enough that nobody waits for them,
// or, where memory is short, as early as it allows.
#ifndef SPILLWAY_TUNER_SEARCH_CHOOSE_RETURNS_H_
#define SPILLWAY_TUNER_SEARCH_CHOOSE_RETURNS_H_

#include <cstdint>
#include <vector>

#include "tuner/model/step_model.h"

namespace spillway {

// Everything is borrowed for the call.
struct ReturnInputs {
  const StepModel& model;
  int64_t budget_bytes = 0;
  // Start of each step if nothing is waited for; one more for the end.
  const std::vector<int64_t>& start_ns;
  // Device bytes by step with every moved tensor away for all of its gap.
  const std::vector<int64_t>& staying_bytes;
  const std::vector<int32_t>& moved;  // gaps, ascending
};

// By gap: the step after which its copy back is issued; -1: it is not moved.
// Copies come in the order of their readers, and each tensor is away for one
// step at least. Cost: O(steps + moved gaps * log).
std::vector<int32_t> ChooseReturns(const ReturnInputs& inputs);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_CHOOSE_RETURNS_H_
