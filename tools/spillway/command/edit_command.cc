#include "tools/spillway/command/edit_command.h"

#include "base/counted.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"
#include "graph/format/dot.h"
#include "graph/format/json_format.h"
#include "tools/spillway/flags/graph_source.h"
#include "tools/spillway/flags/lms_flags.h"
#include "tools/spillway/flags/step_flags.h"
#include "tools/spillway/output/result_json.h"
#include "tuner/choose_step.h"

namespace spillway {
namespace {

std::string FormatReport(const LmsReport& report) {
  std::string text = fmt::format("added ops     {}\n", report.added_ops);
  if (report.clones.nodes > 0) {
    text += fmt::format("recomputed    {} ({})\n",
                        Counted(report.clones.nodes, "node"),
                        FormatBytes(report.clones.bytes));
  }
  text += fmt::format(
      "swapped       {}: {} out ({}), {} in ({})\n"
      "levels        {}\n"
      "edit time     {}\n"
      "equivalent    yes\n",  // else the edit would have been refused
      Counted(report.swap_tensors, "tensor"), report.swap_outs,
      FormatBytes(report.out_bytes), report.swap_ins,
      FormatBytes(report.in_bytes), report.levels,
      FormatDuration(report.edit_ns));
  for (const LmsReport::Dropped& dropped : report.dropped) {
    text +=
        fmt::format("dropped       {}: {}\n", dropped.tensor, dropped.reason);
  }
  return text;
}

Json ToJson(const EditFlags& flags, const LmsReport& report) {
  return {{"added_ops", report.added_ops},
          {"recompute", ClonesJson(report.clones)},
          {"swap_tensors", report.swap_tensors},
          {"swap_outs", report.swap_outs},
          {"swap_ins", report.swap_ins},
          {"out_bytes", report.out_bytes},
          {"in_bytes", report.in_bytes},
          {"levels", report.levels},
          {"edit_ms", static_cast<double>(report.edit_ns) * 1e-6},
          {"equivalent", true},  // as was proven
          {"dropped", DroppedJson(report)},
          {"lms", LmsJson(flags.lms)}};
}

}  // namespace

void AddEditFlags(FlagSet& set, EditFlags& flags) {
  set.BeginGroup("Files");
  set.File("--graph", flags.graph, "graph file to edit; may hold unknown ops")
      ->required();
  set.File("--out", flags.out, "write the edited graph to this file");
  set.File("--dot", flags.dot, "write it as Graphviz text too");
  AddLmsFlags(set, flags.lms, Decider::kFlags);
  AddResultFlags(set, flags.result);
}

absl::Status RunEdit(const EditFlags& flags) {
  Outputs outputs(flags.result, {{"--out", flags.out}, {"--dot", flags.dot}});
  SPILLWAY_RETURN_IF_ERROR(outputs.Check());
  SPILLWAY_ASSIGN_OR_RETURN(Graph graph, LoadGraphFile(flags.graph));
  StepOptions step = DefaultStepOptions();
  step.lms = flags.lms;
  SPILLWAY_ASSIGN_OR_RETURN(const LmsReport report, EditGraph(step, graph));
  outputs.Print(FormatReport(report));
  outputs.WriteJson(ToJson(flags, report));
  outputs.Write("--out", [&] { return FormatGraph(graph); });
  outputs.Write("--dot", [&] { return FormatDot(graph); });
  return outputs.Finish();
}

}  // namespace spillway
