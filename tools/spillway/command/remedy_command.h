// `spillway tune --explain_remedy`: what to do about a model that is too large.
#ifndef SPILLWAY_TOOLS_SPILLWAY_COMMAND_REMEDY_COMMAND_H_
#define SPILLWAY_TOOLS_SPILLWAY_COMMAND_REMEDY_COMMAND_H_

#include "absl/status/status.h"
#include "tools/spillway/flags/graph_source.h"
#include "tools/spillway/output/output.h"
#include "tuner/step_options.h"

namespace spillway {

// Prints which remedies the model needs and what each costs. Errors: those of
// ExplainRemedies; INVALID_ARGUMENT naming --explain_remedy without a model, or
// for a forward step.
absl::Status RunExplainRemedy(const GraphSourceFlags& source,
                              const StepOptions& step, Outputs& outputs);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_COMMAND_REMEDY_COMMAND_H_
