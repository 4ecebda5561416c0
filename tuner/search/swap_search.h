// Which tensors to move so that a step fits a budget and takes the least time.
//
// Begins with Belady's rule ("A study of replacement algorithms for a
// virtual-storage computer", 1966): going through the steps, whenever there are
// too many bytes, those leave that are read again last. Then it improves that
// choice: a tensor stays and others leave for it, or one more leaves and others
// stay; whatever plays faster, or as fast with fewer bytes moved, is kept.
#ifndef SPILLWAY_TUNER_SEARCH_SWAP_SEARCH_H_
#define SPILLWAY_TUNER_SEARCH_SWAP_SEARCH_H_

#include <cstdint>

#include "tuner/model/swap_player.h"

namespace spillway {

struct SwapSearchOptions {
  // Tensors smaller than this never move.
  int64_t size_threshold_bytes = 0;
  // Bound on the improving: looks at one tensor at one step.
  int64_t max_work = 20'000'000;
};

struct FoundSwaps {
  MovedGaps moved = {};
  PlayedStep played = {};  // fits: false if no choice does
};

// Deterministic. Cost: O(gaps log gaps + max_work).
FoundSwaps SearchSwaps(const SwapPlayer& player,
                       const SwapSearchOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_SWAP_SEARCH_H_
