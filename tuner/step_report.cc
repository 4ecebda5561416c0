#include "tuner/step_report.h"

#include <optional>
#include <string_view>

#include "base/counted.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "lms/options_json.h"
#include "lms/recompute/clone_nodes.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

// "v1, n_tensors 40": the mode, and the options that are not at their defaults.
std::string FormatLms(const LmsOptions& options) {
  const Json defaults = ToJson(LmsOptions{.mode = options.mode});
  std::string text(LmsModeName(options.mode));
  const Json used = UsedOptionsToJson(options);
  for (const auto& [name, value] : used.items()) {
    if (defaults.contains(name) && defaults[name] == value) continue;
    text += fmt::format(", {} {}", name, value.dump());
  }
  return text;
}

std::string FormatSchedule(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kCreation:
      return "creation";
    case ScheduleKind::kMemory:
      return "memory";
    case ScheduleKind::kAuto:
      break;
  }
  return "auto";
}

void AddTried(const std::string& chosen, const StepSearch& search,
              HtmlReport& report) {
  for (const TriedSet& tried : search.tried) {
    report.tried.push_back({.label = tried.name,
                            .fits = tried.fits,
                            .device_bytes = tried.device_bytes,
                            .host_bytes = tried.host_bytes,
                            .note = tried.reason});
    if (tried.step_ns > 0) report.tried.back().step_ns = tried.step_ns;
    // Sets with equal names are tried in several orders, with different times.
    // (TFLMS's own trials have no times.)
    const bool is_chosen =
        tried.name == chosen &&
        (tried.step_ns == 0 || tried.step_ns == search.step_ns);
    if (tried.fits && is_chosen && !report.chosen) {
      report.chosen = report.tried.size() - 1;
    }
  }
}

const std::optional<int64_t>& ChangeNs(const TensorPrice& price, Fate fate) {
  return price.change_ns[static_cast<size_t>(fate)];
}

void AddExtras(const ReportExtras& extras, HtmlReport& report) {
  if (extras.frontier != nullptr) {
    report.frontier_interrupted = extras.frontier->interrupted;
    for (const FrontierPoint& point : extras.frontier->points) {
      report.frontier.push_back({.budget_bytes = point.device_memory,
                                 .step_ns = point.step_ns,
                                 .bound_ns = point.bound_ns,
                                 .device_bytes = point.device_bytes,
                                 .name = point.name});
    }
  }
  for (const TensorPrice& price : extras.prices) {
    report.changes.push_back(
        {.tensor = price.tensor,
         .if_kept_ns = ChangeNs(price, Fate::kKept),
         .if_swapped_ns = ChangeNs(price, Fate::kSwapped),
         .if_recomputed_ns = ChangeNs(price, Fate::kRecomputed)});
  }
  for (const PolicyResult& policy : extras.policies) {
    if (!policy.fits) continue;
    report.policies.push_back({.name = policy.name,
                               .device_bytes = policy.device_bytes,
                               .step_ns = policy.step_ns});
  }
}

}  // namespace

HtmlReport MakeStepReport(const StepReportSpec& spec) {
  const Graph& graph = *spec.graph;
  HtmlReport report = {.title = graph.name(),
                       .facts = spec.head.facts,
                       .batch_size = spec.head.batch_size,
                       .graph = spec.graph,
                       .plan = spec.plan,
                       .predicted = spec.predicted,
                       .device_budget = spec.options->device_memory,
                       .host_budget = HostMemoryOf(*spec.options)};
  if (spec.recompute != nullptr) {
    report.original_of = OriginalValues(*spec.recompute, graph);
  }
  if (report.batch_size > 0) {
    report.title += fmt::format(", batch {}", report.batch_size);
  }
  report.facts.push_back({"Machine", spec.profile});
  report.facts.push_back({"LMS", FormatLms(*spec.lms)});
  report.facts.push_back({"Schedule", FormatSchedule(spec.options->schedule)});
  report.facts.push_back(
      {"Graph",
       fmt::format("{}, {} in the plan", Counted(graph.num_nodes(), "node"),
                   Counted(spec.plan->steps.size(), "step"))});
  if (spec.bound != nullptr) {
    report.bound = {.step_ns = spec.bound->step_ns,
                    .reason = BoundReason(*spec.bound)};
  }
  if (spec.search != nullptr) {
    report.facts.push_back(
        {"Chosen", fmt::format("{}: {}", spec.chosen, spec.search->reason)});
    AddTried(spec.chosen, *spec.search, report);
  } else if (!spec.chosen.empty()) {
    report.facts.push_back({"Chosen", spec.chosen + ", a saved plan"});
  }
  return report;
}

HtmlReport ReportOf(const StepPrediction& predicted, const ReportHead& head) {
  const ChosenStep& chosen = predicted.chosen;
  return MakeStepReport({.head = head,
                         .profile = predicted.profile,
                         .options = &chosen.options,
                         .lms = &chosen.lms,
                         .bound = &predicted.bound,
                         .chosen = chosen.name,
                         .search = chosen.search ? &*chosen.search : nullptr,
                         .graph = &chosen.graph,
                         .recompute = &chosen.edit.recompute,
                         .plan = &predicted.plan,
                         .predicted = &predicted.step});
}

HtmlReport ReportOf(const TuneResult& tuned, const ReportHead& head,
                    const ReportExtras& extras) {
  const EvaluatedRecipe& chosen = tuned.step.chosen;
  const StepSearch search = {.reason = tuned.step.reason,
                             .step_ns = chosen.step.step_ns,
                             .tried = tuned.step.tried};
  HtmlReport report = MakeStepReport({.head = head,
                                      .profile = tuned.profile.name,
                                      .options = &tuned.options,
                                      .lms = &tuned.options.lms,
                                      .bound = &tuned.step.bound,
                                      .chosen = chosen.recipe.name,
                                      .search = &search,
                                      .graph = &chosen.graph,
                                      .recompute = &chosen.recipe.recompute,
                                      .plan = &chosen.plan,
                                      .predicted = &chosen.step});
  AddExtras(extras, report);
  return report;
}

absl::Status WriteHtmlReport(const StepPrediction& predicted,
                             const std::string& path, const ReportHead& head) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string page,
                            FormatHtmlReport(ReportOf(predicted, head)));
  return WriteFileAtomically(path, page);
}

absl::Status WriteHtmlReport(const TuneResult& tuned, const std::string& path,
                             const ReportHead& head) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string page,
                            FormatHtmlReport(ReportOf(tuned, head)));
  return WriteFileAtomically(path, page);
}

}  // namespace spillway
