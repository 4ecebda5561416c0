#include "tools/spillway/output/bench_timelines.h"

#include <cmath>
#include <string>

#include "base/counted.h"
#include "base/trace/timeline.h"
#include "executor/plan/explain_timeline.h"
#include "fmt/format.h"
#include "simulator/memory_over_time.h"
#include "simulator/report/html_report.h"
#include "tools/spillway/command/step_timing.h"
#include "tuner/step_report.h"

namespace spillway {
namespace {

SimulatedStep PredictStep(const BenchSetup& setup) {
  const ExecutionPlan& plan = *setup.session->plan(0);
  SimulatedStep step = PlayStep(setup.graph, plan, setup.algorithms,
                                *setup.options.ops, setup.profile);
  AddMemoryCounters(plan, step);
  ExplainTimeline(plan, setup.graph, step.timeline);
  return step;
}

// Of the timed steps; if there are none, of the traced step.
int64_t MeasuredStepNs(const ThroughputResult& result) {
  if (result.step_seconds.empty()) return TotalNs(result.traced_step);
  return std::llround(Median(result.step_seconds) * 1e9);
}

absl::StatusOr<std::string> FormatReport(const BenchFlags& flags,
                                         const BenchSetup& setup,
                                         const SimulatedStep& predicted,
                                         const ThroughputResult& result) {
  HtmlReport report =
      MakeStepReport({.head = {.batch_size = setup.model.options.batch_size,
                               .facts = {{"Precision", flags.model.precision}}},
                      .profile = setup.profile.name,
                      .options = &setup.options,
                      .lms = &setup.lms,
                      .bound = setup.bound ? &*setup.bound : nullptr,
                      .chosen = setup.recipe,
                      .search = setup.search ? &*setup.search : nullptr,
                      .graph = &setup.graph,
                      .recompute = &setup.edit.recompute,
                      .plan = setup.session->plan(0),
                      .predicted = &predicted});
  report.facts.push_back(
      {"Measured on",
       fmt::format("{}, {}", setup.device,
                   Counted(result.step_seconds.size(), "step"))});
  const MemoryUse memory = setup.session->memory();
  report.measured = {.timeline = &result.traced_step,
                     .step_ns = MeasuredStepNs(result),
                     .device_bytes = memory.measured_device_bytes,
                     .host_bytes = memory.measured_host_bytes};
  return FormatHtmlReport(report);
}

}  // namespace

void WriteTimelines(const BenchFlags& flags, const BenchSetup& setup,
                    const ThroughputResult& result, Outputs& outputs) {
  if (flags.trace.empty() && flags.report.empty()) return;
  const SimulatedStep predicted = PredictStep(setup);
  outputs.Write("--trace", [&] {
    return FormatChromeTrace(
        {{.name = "predicted", .timeline = &predicted.timeline},
         {.name = "measured", .timeline = &result.traced_step}});
  });
  outputs.Write("--report",
                [&] { return FormatReport(flags, setup, predicted, result); });
}

}  // namespace spillway
