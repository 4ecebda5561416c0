// Decides when moved tensors come back: just early enough to avoid stalls or,
// if memory is short, as early as memory allows.
#ifndef SPILLWAY_TUNER_SEARCH_CHOOSE_RETURNS_H_
#define SPILLWAY_TUNER_SEARCH_CHOOSE_RETURNS_H_

#include <cstdint>
#include <vector>

#include "tuner/model/step_model.h"

namespace spillway {

// Borrows everything for the call.
struct ReturnInputs {
  const StepModel& model;
  int64_t budget_bytes = 0;
  // Start of each step without stalls; one more for the end.
  const std::vector<int64_t>& start_ns;
  // Device bytes by step if every moved tensor is away for its whole gap.
  const std::vector<int64_t>& staying_bytes;
  const std::vector<int32_t>& moved;  // gaps, ascending
};

// By gap: the step after which its copy back is issued; -1: not moved. Copies
// run in the order of their readers, and each tensor is away for at least one
// step. Cost: O(steps + moved gaps * log).
std::vector<int32_t> ChooseReturns(const ReturnInputs& inputs);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_CHOOSE_RETURNS_H_
