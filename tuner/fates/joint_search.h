// Chooses for each tensor whether it is kept, swapped or recomputed, so that a
// step fits a budget in the least time.
//
// It starts from several choices of what to recompute: nothing; all that costs
// at most some number of nanoseconds per byte, for several numbers; everything
// between checkpoints. In each of them, tensors are swapped by Belady's rule as
// far as the budget requires. The best one is annealed (anneal_fates.h). A
// local search then changes one tensor at a time until none improves the step.
#ifndef SPILLWAY_TUNER_FATES_JOINT_SEARCH_H_
#define SPILLWAY_TUNER_FATES_JOINT_SEARCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/stop_request.h"
#include "tuner/fates/joint_player.h"

namespace spillway {

struct JointSearchOptions {
  // Storages smaller than this are always kept.
  int64_t size_threshold_bytes = 0;
  // Plays of the annealing; the local search has half as many. 0: the best
  // start is the result.
  int64_t plays = 2000;
  // Plays to make a start fit if none does.
  int64_t fit_plays = 1000;
  // AnnealOptions::heat.
  double heat = 0.1;
  // Stop at this time: no step is faster.
  int64_t bound_ns = 0;
  uint64_t seed = 0;  // of random numbers
  bool usual_seeds = true;
  // AnnealOptions::stop; also ends the local search.
  StopRequest stop = {};
};

// `seeds`: choices to start from, such as the result for another budget; with
// options.usual_seeds, the usual ones are added.
// Deterministic. nullopt: nothing that was tried fits.
std::optional<JointStep> SearchFates(const JointPlayer& player,
                                     const std::vector<Fates>& seeds,
                                     const JointSearchOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_FATES_JOINT_SEARCH_H_
