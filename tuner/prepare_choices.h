// What the tuner may recompute in a step, and by which kernels.
#ifndef SPILLWAY_TUNER_PREPARE_CHOICES_H_
#define SPILLWAY_TUNER_PREPARE_CHOICES_H_

#include <optional>

#include "absl/status/statusor.h"
#include "tuner/model/evaluate.h"
#include "tuner/prepare_step.h"

namespace spillway {

// Prepares and times the kernels of derived nodes (OpDef::derive). nullopt:
// the options leave nothing to the tuner. `spec`: with a profile. Errors: as
// PreparePlan; those of options.lms.recompute (lms/recompute/plan_recompute.h).
absl::StatusOr<std::optional<RecomputeChoices>> PrepareChoices(
    const PlanSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PREPARE_CHOICES_H_
