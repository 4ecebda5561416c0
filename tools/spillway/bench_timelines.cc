#include "tools/spillway/bench_timelines.h"

#include <cmath>
#include <string>

#include "base/status_macros.h"
#include "base/trace/timeline.h"
#include "fmt/format.h"
#include "simulator/memory_over_time.h"
#include "simulator/report/html_report.h"
#include "tools/spillway/step_timing.h"
#include "tuner/step_report.h"

namespace spillway {
namespace {

SimulatedStep PredictStep(const BenchSetup& setup) {
  const ExecutionPlan& plan = *setup.session->plan(0);
  SimulatedStep step = PlayStep(setup.graph, plan, setup.algorithms,
                                *setup.options.ops, setup.profile);
  AddMemoryCounters(plan, step);
  return step;
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
                      .graph = &setup.graph,
                      .plan = setup.session->plan(0),
                      .predicted = &predicted});
  report.facts.push_back(
      {"Measured on",
       fmt::format("{}, {} steps", setup.device, result.step_seconds.size())});
  const MemoryUse memory = setup.session->memory();
  report.measured = {.timeline = &result.traced_step,
                     .step_ns = std::llround(Median(result.step_seconds) * 1e9),
                     .device_bytes = memory.measured_device_bytes,
                     .host_bytes = memory.measured_host_bytes};
  return FormatHtmlReport(report);
}

}  // namespace

absl::Status WriteTimelines(const BenchFlags& flags, const BenchSetup& setup,
                            const ThroughputResult& result) {
  if (flags.trace.empty() && flags.report.empty()) return absl::OkStatus();
  const SimulatedStep predicted = PredictStep(setup);
  SPILLWAY_RETURN_IF_ERROR(WriteOutput(
      {.flag = "--trace", .path = flags.trace},
      FormatChromeTrace(
          {{.name = "predicted", .timeline = &predicted.timeline},
           {.name = "measured", .timeline = &result.traced_step}})));
  if (flags.report.empty()) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(const std::string page,
                            FormatReport(flags, setup, predicted, result));
  return WriteOutput({.flag = "--report", .path = flags.report}, page);
}

}  // namespace spillway
