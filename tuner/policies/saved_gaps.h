// The tensors that a training step saves for its backward phase.
#ifndef SPILLWAY_TUNER_POLICIES_SAVED_GAPS_H_
#define SPILLWAY_TUNER_POLICIES_SAVED_GAPS_H_

#include <cstdint>
#include <vector>

#include "tuner/model/step_model.h"

namespace spillway {

// The gaps around the first step at which the most bytes wait for a later
// reader, ascending. In a training step, this is where the forward phase ends,
// so the gaps belong to the activations that the backward phase reads. Uses no
// names, so it also works for graphs without scopes. Cost: O(steps + gaps).
std::vector<int32_t> SavedGaps(const StepModel& model);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_SAVED_GAPS_H_
