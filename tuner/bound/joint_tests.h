// The three tests of joint_bound.h for one time of the step.
#ifndef SPILLWAY_TUNER_BOUND_JOINT_TESTS_H_
#define SPILLWAY_TUNER_BOUND_JOINT_TESTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tuner/bound/crowded_steps.h"
#include "tuner/bound/joint_bound.h"
#include "tuner/bound/least_recomputed.h"
#include "tuner/bound/path_bound.h"
#include "tuner/bound/recompute_knapsack.h"

namespace spillway {

// Whether swaps are allowed and the link has rates.
bool CanSwap(const JointBoundInputs& inputs);

// The path as a bound: swaps alone.
JointBound BoundOfPath(const StepPath& path, const StepModel& model);

class JointTests {
 public:
  // Borrows the inputs.
  explicit JointTests(const JointBoundInputs& inputs);

  const Crowd& crowd() const { return crowd_; }

  // A lower bound on the time of every plan, given an assumed time: plans of at
  // most `step_ns` take at least the result's step_ns, and all others take
  // longer than `step_ns`. If the result exceeds `step_ns`, it is step_ns + 1:
  // a test fails. `is_thorough`: rounds to whole tensors on the path.
  JointBound BoundAssuming(int64_t step_ns, bool is_thorough);

 private:
  // Gaps that one clone may fill, as an item of the covering.
  void FindItems();
  // For the path; keeps the result in recomputed_bytes_.
  int64_t MostRecomputed(int32_t step, int64_t start_ns);
  Cut CutAt(size_t crowded, const StepPath& path) const;
  JointBound OfPath(const StepPath& path) const;
  JointBound OfCut(size_t crowded, const StepPath& path) const;
  // The cut test at all crowded steps; the first that fails, if any.
  std::optional<size_t> FailedCut(const StepPath& path);
  // Bounds all plans of at most step_ns_ by the bytes from the cut tests.
  JointBound OfCovering(const StepPath& path);

  const JointBoundInputs& inputs_;
  const LinkRates rates_;
  const Crowd crowd_;
  std::vector<int32_t> crowded_at_;  // by step; -1: none, or left out
  std::vector<int32_t> item_of_;     // by gap
  std::vector<RemakeItem> items_;

  // Of the assumed time:
  int64_t step_ns_ = 0;
  int64_t most_recompute_ns_ = 0;
  std::vector<RecomputeKnapsack> knapsacks_;  // by crowded step
  // Likewise: at most, by the path, then at least, by the cut test.
  std::vector<int64_t> recomputed_bytes_;
};

}  // namespace spillway

#endif  // SPILLWAY_TUNER_BOUND_JOINT_TESTS_H_
