// What was predicted or tuned, as a page to look at (simulator/report,
// docs/report.md).
//
//   SPILLWAY_RETURN_IF_ERROR(WriteHtmlReport(predicted, "step.html"));
#ifndef SPILLWAY_TUNER_STEP_REPORT_H_
#define SPILLWAY_TUNER_STEP_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "simulator/report/html_report.h"
#include "tuner/simulate.h"
#include "tuner/tune.h"

namespace spillway {

// What plans do not know of the step, for the head of the page.
struct ReportHead {
  int64_t batch_size = 0;              // 0: unknown, no images/s
  std::vector<ReportFact> facts = {};  // put before the others
};

// The result borrows from what it is made of.
HtmlReport ReportOf(const StepPrediction& predicted,
                    const ReportHead& head = {});
HtmlReport ReportOf(const TuneResult& tuned, const ReportHead& head = {});

// Errors: as WriteFileAtomically.
absl::Status WriteHtmlReport(const StepPrediction& predicted,
                             const std::string& path,
                             const ReportHead& head = {});
absl::Status WriteHtmlReport(const TuneResult& tuned, const std::string& path,
                             const ReportHead& head = {});

// --- The head that reports share ---

// Everything pointed to is borrowed, by the report that is made of it too.
struct StepReportSpec {
  ReportHead head = {};
  std::string profile = {};              // its name
  const StepOptions* options = nullptr;  // budgets and schedule
  const LmsOptions* lms = nullptr;
  const StepTimeBound* bound = nullptr;
  std::string chosen = {};             // name of the recipe; empty: none
  const StepSearch* search = nullptr;  // null: nothing was searched
  const Graph* graph = nullptr;        // edited
  const ExecutionPlan* plan = nullptr;
  const SimulatedStep* predicted = nullptr;
};
HtmlReport MakeStepReport(const StepReportSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_STEP_REPORT_H_
