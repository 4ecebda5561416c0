// The inputs of the tuner for a step whose kernels' algorithms are settled.
#ifndef SPILLWAY_TUNER_WHAT_IF_STEP_INPUTS_H_
#define SPILLWAY_TUNER_WHAT_IF_STEP_INPUTS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "executor/plan/algorithms.h"
#include "tuner/model/evaluate.h"
#include "tuner/prepare_choices.h"
#include "tuner/prepare_step.h"
#include "tuner/tune.h"

namespace spillway {

// Owns what TunerInputs borrows.
class StepInputs {
 public:
  // Any node may be recomputed that spec.options->lms does not exclude.
  // `algorithms`: by node, more are ignored; null: each kernel takes the
  // fastest that spec.options->algorithms allows. Errors: as PreparePlan and
  // PrepareChoices.
  absl::Status Prepare(const TuningSpec& spec,
                       const AlgorithmNames* algorithms = nullptr);

  // `spec`: that of Prepare. The result borrows from both.
  TunerInputs Inputs(const TuningSpec& spec) const;

  const AlgorithmNames& algorithms() const { return algorithms_; }

 private:
  PlanInputs plan_;
  AlgorithmNames algorithms_;
  IdMap<NodeId, bool> keep_;
  IdMap<NodeId, int64_t> kernel_ns_;
  std::optional<RecomputeChoices> choices_;
};

}  // namespace spillway

#endif  // SPILLWAY_TUNER_WHAT_IF_STEP_INPUTS_H_
