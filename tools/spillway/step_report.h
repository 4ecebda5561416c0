// The report (report/html_report.h) of a predicted step, with the head that
// commands share: what was planned, for which machine, with which options.
#ifndef SPILLWAY_TOOLS_SPILLWAY_STEP_REPORT_H_
#define SPILLWAY_TOOLS_SPILLWAY_STEP_REPORT_H_

#include <cstdint>
#include <string>

#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "lms/options.h"
#include "simulator/simulator.h"
#include "tools/spillway/device_flags.h"
#include "tools/spillway/report/html_report.h"

namespace spillway {

// Everything pointed to is borrowed, by the report that is made of it too.
struct StepReportSpec {
  int64_t batch_size = 0;      // 0: unknown
  std::string precision = {};  // of a model of the zoo
  std::string profile = {};    // its name
  const LmsOptions* lms = nullptr;
  const MemoryFlags* memory = nullptr;
  const Graph* graph = nullptr;
  const ExecutionPlan* plan = nullptr;
  const SimulatedStep* predicted = nullptr;
};

HtmlReport MakeStepReport(const StepReportSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_STEP_REPORT_H_
