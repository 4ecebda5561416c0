// How a step is run: as the LMS flags say, as the tuner chooses, or as a plan
// file has it.
#ifndef SPILLWAY_TOOLS_SPILLWAY_CHOSEN_STEP_H_
#define SPILLWAY_TOOLS_SPILLWAY_CHOSEN_STEP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/plan/compile.h"
#include "executor/session.h"
#include "graph/graph.h"
#include "lms/options.h"
#include "lms/report.h"
#include "tools/spillway/device_flags.h"
#include "tools/spillway/flags.h"
#include "tuner/saved_plan.h"
#include "tuner/tuner.h"

namespace spillway {

// --plan, for commands that run or simulate steps.
void AddPlanFlag(FlagSet& set, std::string& plan);

struct StepChoiceSpec {
  const Graph* graph = nullptr;  // without swaps; borrowed
  std::vector<ValueId> fetches = {};
  LmsOptions lms = {};
  std::string plan = {};     // of --plan; empty: none
  std::string profile = {};  // of --profile
  DeviceFlags device = {};
  MemoryFlags memory = {};
  // The step is only looked at: algorithms may be those of another machine, of
  // the profile's.
  bool is_only_predicted = false;
  // Of the device budget, what is not for this step.
  int64_t reserved_bytes = 0;
};

struct ChosenStep {
  Graph graph = {};  // edited
  // None: the usual order of the edited graph.
  std::optional<TimedSchedule> order = {};
  LmsReport edit = {};
  LmsOptions lms = {};    // what was used
  std::string name = {};  // of a recipe; empty: as `lms` says
  AlgorithmNames algorithms = {};
  // What the step has to return for the order to fit it.
  std::vector<ValueId> fetches = {};
  MemoryFlags memory = {};  // with the budgets that go with the order
};

// Tells on stderr what was chosen. Errors: INVALID_ARGUMENT naming --plan for a
// file of another graph, and for budgets below what it needs; as EditGraph and
// TuneStep.
absl::StatusOr<ChosenStep> ChooseStep(const StepChoiceSpec& spec);

// What `tune` found, as a file to save.
SavedPlan ToSavedPlan(const TunedStep& tuned,
                      const std::vector<ValueId>& fetches,
                      const MemoryFlags& memory);

// The program that runs it.
Program ProgramOf(ChosenStep step);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_CHOSEN_STEP_H_
