// The policies cheap and sqrt of `--lms_recompute` (lms/recompute) as fates:
// cheap computes again what ops bound by memory traffic make, as TensorFlow's
// Grappler does (github.com/tensorflow/tensorflow,
// core/grappler/optimizers/memory_optimizer.cc); sqrt all but checkpoints (Chen
// et al., "Training Deep Nets with Sublinear Memory Cost", arXiv 1604.06174).
#ifndef SPILLWAY_TUNER_POLICIES_CHECKPOINTS_H_
#define SPILLWAY_TUNER_POLICIES_CHECKPOINTS_H_

#include <cstdint>
#include <optional>

#include "tuner/model/materialize.h"
#include "tuner/model/recompute_space.h"

namespace spillway {

// Without swaps; these do not depend on the budget. nullopt: the policy does
// not know the graph's phases (lms/recompute/plan_recompute.h).
std::optional<Fates> CheapFates(const RecomputeSpace& space,
                                int64_t budget_bytes);
std::optional<Fates> SqrtFates(const RecomputeSpace& space,
                               int64_t budget_bytes);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_CHECKPOINTS_H_
