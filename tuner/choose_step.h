// Decides how a step runs: as the LMS options say, as the tuner chooses, or as
// a saved plan has it.
#ifndef SPILLWAY_TUNER_CHOOSE_STEP_H_
#define SPILLWAY_TUNER_CHOOSE_STEP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/plan/compile_options.h"
#include "executor/session/session.h"
#include "graph/graph.h"
#include "lms/options.h"
#include "lms/report.h"
#include "tuner/search/tune_swaps.h"
#include "tuner/step_options.h"

namespace spillway {

struct StepChoiceSpec {
  const Graph* graph = nullptr;  // without swaps; borrowed
  std::vector<ValueId> fetches = {};
  StepOptions options = {};
  // The step is only predicted, not run, so algorithms may be those of the
  // profile's machine instead of this one.
  bool is_only_predicted = false;
  // The part of the device budget that is not for this step.
  int64_t reserved_bytes = 0;
};

// The search that chose a step.
struct StepSearch {
  std::string reason = {};           // one line: why this choice
  int64_t step_ns = 0;               // predicted, for the choice
  std::vector<TriedSet> tried = {};  // in order
};

struct ChosenStep {
  Graph graph = {};  // edited
  // nullopt: the default order of the edited graph.
  std::optional<TimedSchedule> order = {};
  LmsReport edit = {};
  LmsOptions lms = {};                    // the options that were used
  std::string name = {};                  // of a recipe; empty: `lms` applies
  std::optional<StepSearch> search = {};  // nullopt: no search was made
  AlgorithmNames algorithms = {};
  // The fetches that the order was made for.
  std::vector<ValueId> fetches = {};
  // As given, but with the budgets that the order was made for, and without the
  // plan.
  StepOptions options = {};
  // The given device budget, if the plan fits it but was made for a larger
  // budget, which is then in `options`. OpenDevice gets this value, so that it
  // remains a limit.
  std::optional<int64_t> device_limit = {};
};

// Errors: INVALID_ARGUMENT for a plan of another graph or a plan that does not
// return the fetches, RESOURCE_EXHAUSTED for budgets below what the plan needs
// or below reserved_bytes; errors of EditGraph and TuneStep.
absl::StatusOr<ChosenStep> ChooseStep(const StepChoiceSpec& spec);

// Edits `graph` as options.lms says, measures the time of the edit, and sends
// the LMS log lines to options.log; with mode kOff, changes and logs nothing.
// Errors: as ApplyLms.
absl::StatusOr<LmsReport> EditGraph(const StepOptions& options, Graph& graph);

// The program that runs the step.
Program ProgramOf(ChosenStep step);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_CHOOSE_STEP_H_
