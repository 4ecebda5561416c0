// How a step is run: as LMS options say, as the tuner chooses, or as a saved
// plan has it.
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
  // The step is only looked at: algorithms may be those of another machine, of
  // the profile's.
  bool is_only_predicted = false;
  // Of the device budget, what is not for this step.
  int64_t reserved_bytes = 0;
};

// The search that chose a step.
struct StepSearch {
  std::string reason = {};           // one line: why this choice
  int64_t step_ns = 0;               // of the choice, as predicted
  std::vector<TriedSet> tried = {};  // in order
};

struct ChosenStep {
  Graph graph = {};  // edited
  // None: the usual order of the edited graph.
  std::optional<TimedSchedule> order = {};
  LmsReport edit = {};
  LmsOptions lms = {};                    // what was used
  std::string name = {};                  // of a recipe; empty: as `lms` says
  std::optional<StepSearch> search = {};  // none: nothing was searched
  AlgorithmNames algorithms = {};
  // What the step has to return for the order to fit it.
  std::vector<ValueId> fetches = {};
  // As given, with the budgets that go with the order, without the plan.
  StepOptions options = {};
  // What was given as the device's budget, where a plan that fits it was placed
  // in a larger one, which is then in `options`. For OpenDevice, so that it
  // stays a limit.
  std::optional<int64_t> device_limit = {};
};

// Errors: INVALID_ARGUMENT for a plan of another graph or that does not return
// the fetches, RESOURCE_EXHAUSTED for budgets below what it needs or below
// reserved_bytes; as EditGraph and TuneStep.
absl::StatusOr<ChosenStep> ChooseStep(const StepChoiceSpec& spec);

// Edits `graph` as options.lms says, measures how long that took, and tells the
// LMS log lines to options.log; mode kOff changes and tells nothing. Errors: as
// ApplyLms.
absl::StatusOr<LmsReport> EditGraph(const StepOptions& options, Graph& graph);

// The program that runs it.
Program ProgramOf(ChosenStep step);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_CHOOSE_STEP_H_
