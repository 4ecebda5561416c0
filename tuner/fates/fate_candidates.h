// Candidates of the tuner in which each tensor is kept, swapped or recomputed,
// and the lower bound for all of them.
#ifndef SPILLWAY_TUNER_FATES_FATE_CANDIDATES_H_
#define SPILLWAY_TUNER_FATES_FATE_CANDIDATES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "base/stop_request.h"
#include "graph/order/schedule.h"
#include "tuner/bound/joint_bound.h"
#include "tuner/model/evaluate.h"
#include "tuner/model/recompute_space.h"
#include "tuner/model/step_recipe.h"

namespace spillway {

// The space of fates in this order of the kernels. Requires inputs.choices.
RecomputeSpace SpaceOf(const TunerInputs& inputs, const Schedule& schedule);

// Smaller storages are always kept. `size_threshold_bytes`: as the user asks.
int64_t LeastSearchedBytes(const RecomputeSpace& space,
                           int64_t size_threshold_bytes);

struct FateCandidates {
  int64_t budget_bytes = 0;
  int64_t size_threshold_bytes = 0;  // smaller tensors are always kept
  // True: only the candidates from which the search starts are offered, one for
  // each order of the kernels.
  bool takes_first = false;
  // What was found for another budget; null: nothing. The search begins from
  // it, too, and plays far fewer steps where that is close to the bound.
  // Borrowed.
  const FateChoice* start = nullptr;
  // Factor on the number of steps that are played.
  double effort = 1;
  // For small graphs: goes on with smaller budgets and with the other orders of
  // the kernels although a step has been placed as fast as it was played.
  bool tries_all = false;
  // The search ends at a step within this factor of the bound.
  double near_bound = 1;
  // Whether a step of at least this time cannot be the best any more.
  std::function<bool(int64_t bound_ns)> is_settled = {};
  // Called often; true ends the search. What a search that has begun has found
  // is offered if nothing was.
  StopRequest stop = {};
  // Returns the time of the candidate's step; nullopt if it does not fit.
  std::function<std::optional<int64_t>(StepRecipe recipe)> offer = {};
};

// Searches (joint_search.h) a little in each of the orders of the kernels, then
// thoroughly in the one with the fastest step, and offers what it finds.
// Repeats this for several slightly smaller budgets, since buffers cannot
// always be placed without holes, until an offer takes the time that the search
// predicts or is_settled is true for that time. Goes on with the next order if
// nothing fits. With tries_all, a smaller budget finds other steps: the player
// keeps what fits (joint_player.h), and feeds then wait for its bytes.
// Requires inputs.choices. Errors: INTERNAL if an edit changes what the graph
// computes.
absl::Status OfferFates(const TunerInputs& inputs,
                        std::span<const Schedule> orders,
                        const FateCandidates& candidates);

// For every plan in this order of the kernels. Requires inputs.choices.
// `known_ns`: as for FindJointBound.
JointBound BoundOfFates(const TunerInputs& inputs, const Schedule& schedule,
                        int64_t budget_bytes, int64_t known_ns);

// For plans that only swap, and for those that only recompute and feed again.
// nullopt: none fits, or the tuner may not recompute.
struct ClassBounds {
  std::optional<int64_t> swap_only_ns = {};
  std::optional<int64_t> recompute_only_ns = {};
};

// In this order of the kernels. Requires inputs.choices.
ClassBounds ClassBoundsOfFates(const TunerInputs& inputs,
                               const Schedule& schedule, int64_t budget_bytes);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_FATES_FATE_CANDIDATES_H_
