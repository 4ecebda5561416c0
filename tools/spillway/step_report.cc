#include "tools/spillway/step_report.h"

#include "base/units.h"
#include "fmt/format.h"
#include "tools/spillway/result_json.h"

namespace spillway {
namespace {

// "v1, n_tensors 40": the mode, and options that are not as by default.
std::string FormatLms(const LmsOptions& options) {
  const Json defaults = LmsJson({.mode = options.mode});
  std::string text(LmsModeName(options.mode));
  const Json used = LmsJson(options);
  for (const auto& [name, value] : used.items()) {
    if (defaults.contains(name) && defaults[name] == value) continue;
    text += fmt::format(", {} {}", name, value.dump());
  }
  return text;
}

}  // namespace

HtmlReport MakeStepReport(const StepReportSpec& spec) {
  const Graph& graph = *spec.graph;
  HtmlReport report = {.title = graph.name(),
                       .batch_size = spec.batch_size,
                       .graph = spec.graph,
                       .plan = spec.plan,
                       .predicted = spec.predicted,
                       .device_budget = spec.memory->device_memory,
                       .host_budget = HostMemory(*spec.memory)};
  if (spec.batch_size > 0) {
    report.title += fmt::format(", batch {}", spec.batch_size);
    report.facts.push_back({"Precision", spec.precision});
  }
  report.facts.push_back({"Machine", spec.profile});
  report.facts.push_back({"LMS", FormatLms(*spec.lms)});
  report.facts.push_back({"Schedule", spec.memory->schedule});
  report.facts.push_back(
      {"Graph", fmt::format("{} nodes, {} steps in the plan", graph.num_nodes(),
                            spec.plan->steps.size())});
  return report;
}

}  // namespace spillway
