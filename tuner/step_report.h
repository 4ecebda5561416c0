// A prediction or a tuning result as an HTML page (simulator/report,
// docs/report.md).
//
//   SPILLWAY_RETURN_IF_ERROR(WriteHtmlReport(predicted, "step.html"));
#ifndef SPILLWAY_TUNER_STEP_REPORT_H_
#define SPILLWAY_TUNER_STEP_REPORT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "simulator/report/html_report.h"
#include "tuner/policies/policies.h"
#include "tuner/simulate.h"
#include "tuner/tune.h"
#include "tuner/what_if/frontier.h"
#include "tuner/what_if/price_tensors.h"

namespace spillway {

// Facts about the step that plans do not have, for the head of the page.
struct ReportHead {
  int64_t batch_size = 0;              // 0: unknown, no images/s
  std::vector<ReportFact> facts = {};  // placed before the others
};

// What else the page shows if it is known. Borrowed for the call.
struct ReportExtras {
  const Frontier* frontier = nullptr;        // null: no chart of it
  std::span<const TensorPrice> prices = {};  // columns of the table of tensors
  std::span<const PolicyResult> policies = {};  // points of the frontier's
                                                // chart, those that fit
};

// The result borrows from the arguments, except from `extras`.
HtmlReport ReportOf(const StepPrediction& predicted,
                    const ReportHead& head = {});
HtmlReport ReportOf(const TuneResult& tuned, const ReportHead& head = {},
                    const ReportExtras& extras = {});

// Errors: as WriteFileAtomically.
absl::Status WriteHtmlReport(const StepPrediction& predicted,
                             const std::string& path,
                             const ReportHead& head = {});
absl::Status WriteHtmlReport(const TuneResult& tuned, const std::string& path,
                             const ReportHead& head = {});

// --- The head that all reports share ---

// Borrows everything pointed to; so does the report made from it.
struct StepReportSpec {
  ReportHead head = {};
  std::string profile = {};              // its name
  const StepOptions* options = nullptr;  // budgets and schedule
  const LmsOptions* lms = nullptr;
  const StepTimeBound* bound = nullptr;
  std::string chosen = {};             // name of the recipe; empty: no recipe
  const StepSearch* search = nullptr;  // null: no search was made
  const Graph* graph = nullptr;        // edited
  const RecomputePlan* recompute = nullptr;  // whose clones it has; null: none
  const ExecutionPlan* plan = nullptr;
  const SimulatedStep* predicted = nullptr;
};
HtmlReport MakeStepReport(const StepReportSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_STEP_REPORT_H_
