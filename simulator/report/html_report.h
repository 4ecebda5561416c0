// One step as an HTML page: memory over time, the lanes, the contents of the
// peak and the fate of each tensor. Shows predicted times, next to measured
// ones if there is a measurement (docs/report.md).
//
// The page is one file that loads nothing and works without a network.
// Deterministic: equal reports give identical bytes. Ownership: everything
// pointed to is borrowed for the call.
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

// A line in the page's header: "LMS", "v1, n_tensors 40".
struct ReportFact {
  std::string label = {};
  std::string value = {};
};

// A lower bound on the step time of every plan of this graph.
struct ReportBound {
  int64_t step_ns = 0;
  std::string reason = {};  // "compute alone"
};

// Measurements of a run of the same plan. The timeline has one track per lane.
struct MeasuredStep {
  const Timeline* timeline = nullptr;  // of one step
  int64_t step_ns = 0;                 // median of the timed steps
  int64_t device_bytes = 0;
  int64_t host_bytes = 0;
};

// One set of options that a tuner examined.
struct TriedOptions {
  std::string label = {};
  bool fits = false;
  int64_t device_bytes = 0;
  int64_t host_bytes = 0;
  std::optional<int64_t> step_ns = {};  // nullopt: not simulated
  std::string note = {};
};

// The fastest plan that a tuner found within a budget.
struct FrontierDot {
  int64_t budget_bytes = 0;
  int64_t step_ns = 0;
  int64_t bound_ns = 0;      // no plan within the budget is faster; 0: unknown
  int64_t device_bytes = 0;  // of the plan
  std::string name = {};     // of the plan
};

// A policy to compare with: it needs these bytes and takes this time.
struct PolicyDot {
  std::string name = {};
  int64_t device_bytes = 0;
  int64_t step_ns = 0;
};

// How much longer the step would be if a tensor had another fate; nullopt: it
// cannot have it. 0 for the fate that it has.
struct FateChanges {
  std::string tensor = {};  // "conv1/Conv2D:0"
  std::optional<int64_t> if_kept_ns = {};
  std::optional<int64_t> if_swapped_ns = {};
  std::optional<int64_t> if_recomputed_ns = {};
};

struct HtmlReport {
  std::string title = {};  // "resnet50, batch 32"
  std::vector<ReportFact> facts = {};
  int64_t batch_size = 0;  // 0: unknown, no images/s

  const Graph* graph = nullptr;
  const ExecutionPlan* plan = nullptr;
  const SimulatedStep* predicted = nullptr;
  // Of the values that clones compute, by value; empty without clones
  // (OriginalValues in lms/recompute/clone_nodes.h).
  IdMap<ValueId, ValueId> original_of = {};
  std::optional<int64_t> device_budget = {};
  std::optional<int64_t> host_budget = {};

  std::optional<ReportBound> bound = {};
  std::optional<MeasuredStep> measured = {};
  std::vector<TriedOptions> tried = {};
  std::optional<size_t> chosen = {};  // index in `tried`

  // Descending by budget; the first one is what the step needs without one.
  // Empty: no chart of time over memory.
  std::vector<FrontierDot> frontier = {};
  bool frontier_interrupted = false;  // before it reached smaller budgets
  std::vector<PolicyDot> policies = {};
  // Empty: the table of tensors has no columns for other fates. A tensor that
  // is computed in place of another one is in that one's row; a tensor that the
  // plan does not have is ignored.
  std::vector<FateChanges> changes = {};
};

// INVALID_ARGUMENT if graph, plan, predicted or the measured timeline is null.
absl::StatusOr<std::string> FormatHtmlReport(const HtmlReport& report);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_REPORT_HTML_REPORT_H_
