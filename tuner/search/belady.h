// Belady's rule ("A study of replacement algorithms for a virtual-storage
// computer", 1966): at each step with too many bytes, the tensors that are read
// again last leave.
#ifndef SPILLWAY_TUNER_SEARCH_BELADY_H_
#define SPILLWAY_TUNER_SEARCH_BELADY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tuner/model/step_model.h"
#include "tuner/model/swap_player.h"

namespace spillway {

// Device bytes by step if the tensors of these gaps are away.
std::vector<int64_t> BytesOf(const StepModel& model, const MovedGaps& moved);

// Adds gaps to `moved`, of those that `may` allows, until each step fits, or
// nothing more can leave. Ties go to the tensor that was written first. Cost:
// O(steps + gaps log gaps).
void MoveByBelady(const StepModel& model, int64_t budget_bytes,
                  const std::function<bool(size_t gap)>& may, MovedGaps& moved);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_BELADY_H_
