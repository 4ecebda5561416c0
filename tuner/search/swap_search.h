// Chooses the tensors to move so that a step fits a budget in the least time.
//
// The first choice follows Belady's rule ("A study of replacement algorithms
// for a virtual-storage computer", 1966): at each step with too many bytes, the
// tensors that are read again last leave. Then a local search improves it: a
// tensor stays and others leave instead, or one more leaves and others stay. A
// change is kept if the step plays faster, or equally fast with fewer bytes
// moved.
#ifndef SPILLWAY_TUNER_SEARCH_SWAP_SEARCH_H_
#define SPILLWAY_TUNER_SEARCH_SWAP_SEARCH_H_

#include <cstdint>

#include "tuner/model/swap_player.h"

namespace spillway {

struct SwapSearchOptions {
  // Tensors smaller than this never move.
  int64_t size_threshold_bytes = 0;
  // Limit of the local search, in visits of one tensor at one step.
  int64_t max_work = 20'000'000;
};

struct FoundSwaps {
  MovedGaps moved = {};
  PlayedStep played = {};  // fits is false if no choice fits
};

// Deterministic. Cost: O(gaps log gaps + max_work).
FoundSwaps SearchSwaps(const SwapPlayer& player,
                       const SwapSearchOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_SWAP_SEARCH_H_
