// One step as a page to look at: memory over time, the lanes, what fills the
// peak, what becomes of each tensor; predicted, and measured beside it where
// there is a measurement (docs/report.md).
//
// The page is one file: it loads nothing and works without a network. The same
// report gives the same bytes. Ownership: everything pointed to is borrowed for
// the call.
#ifndef SPILLWAY_SIMULATOR_REPORT_HTML_REPORT_H_
#define SPILLWAY_SIMULATOR_REPORT_HTML_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/trace/timeline.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "simulator/simulator.h"

namespace spillway {

// A line of the page's head: "LMS", "v1, n_tensors 40".
struct ReportFact {
  std::string label = {};
  std::string value = {};
};

// No plan of this graph is faster.
struct ReportBound {
  int64_t step_ns = 0;
  std::string reason = {};  // "compute alone"
};

// What a run of the same plan took. The timeline has one track a lane.
struct MeasuredStep {
  const Timeline* timeline = nullptr;  // of one step
  int64_t step_ns = 0;                 // median of the steps that were timed
  int64_t device_bytes = 0;
  int64_t host_bytes = 0;
};

// One set of options that a tuner looked at.
struct TriedOptions {
  std::string label = {};
  bool fits = false;
  int64_t device_bytes = 0;
  int64_t host_bytes = 0;
  std::optional<int64_t> step_ns = {};  // none: was not simulated
  std::string note = {};
};

struct HtmlReport {
  std::string title = {};  // "resnet50, batch 32"
  std::vector<ReportFact> facts = {};
  int64_t batch_size = 0;  // 0: unknown, no images/s

  const Graph* graph = nullptr;
  const ExecutionPlan* plan = nullptr;
  const SimulatedStep* predicted = nullptr;
  std::optional<int64_t> device_budget = {};
  std::optional<int64_t> host_budget = {};

  std::optional<ReportBound> bound = {};
  std::optional<MeasuredStep> measured = {};
  std::vector<TriedOptions> tried = {};
  std::optional<size_t> chosen = {};  // of `tried`
};

// INVALID_ARGUMENT where graph, plan, predicted or the measured timeline is
// null.
absl::StatusOr<std::string> FormatHtmlReport(const HtmlReport& report);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_REPORT_HTML_REPORT_H_
