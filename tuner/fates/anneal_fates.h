// Improves the fates of tensors by threshold accepting (Dueck and Scheuer,
// "Threshold accepting", J. Computational Physics 90, 1990): a simulated
// annealing without the exponential function, so that its result is the same on
// every machine.
//
// Each play changes the fate of one tensor, and often of others that are away
// at the same time: near the smallest budget, a better step is several such
// changes away, each of which alone makes the step slower. A play is accepted
// if it is slower than the last accepted one by less than a threshold, which
// falls to zero.
#ifndef SPILLWAY_TUNER_FATES_ANNEAL_FATES_H_
#define SPILLWAY_TUNER_FATES_ANNEAL_FATES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/stop_request.h"
#include "tuner/fates/joint_player.h"

namespace spillway {

struct AnnealOptions {
  // Gaps of the model whose fates may change. Each may be swapped or
  // recomputed; larger ones are changed more often.
  std::span<const size_t> gaps = {};
  int64_t plays = 0;
  // Stop at this time: no step is faster.
  int64_t bound_ns = 0;
  // Called between plays; true ends them. Empty: never.
  StopRequest stop = {};
  // The first threshold, as a part of the time above the bound.
  double heat = 0.1;
  uint64_t seed = 0;  // of random numbers
};

// The best step that was played, or `start`. Deterministic.
JointStep AnnealFates(const JointPlayer& player, JointStep start,
                      const AnnealOptions& options);

// From fates whose step does not fit, changes them in the same way, and accepts
// each change that does not need more bytes, until the step fits. nullopt: no
// play did. Deterministic.
std::optional<JointStep> FitFates(const JointPlayer& player, Fates start,
                                  const AnnealOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_FATES_ANNEAL_FATES_H_
