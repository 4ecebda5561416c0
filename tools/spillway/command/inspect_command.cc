#include "tools/spillway/command/inspect_command.h"

#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"
#include "graph/format/dot.h"
#include "graph/format/json_format.h"
#include "ops/all_ops.h"
#include "tools/spillway/flags/lms_flags.h"
#include "tools/spillway/output/graph_facts.h"
#include "tools/spillway/output/memory_report.h"
#include "tools/spillway/output/result_json.h"
#include "tuner/choose_step.h"
#include "tuner/simulate.h"

namespace spillway {
namespace {

std::string FormatFacts(const Graph& graph, const GraphFacts& facts,
                        const StepFit& memory) {
  const std::string floor_node =
      memory.floor.node.is_valid() ? graph.node(memory.floor.node).name : "-";
  return fmt::format(
      "graph               {}\n"
      "nodes               {}\n"
      "edges               {} ({} of them control edges)\n"
      "levels              {}\n"
      "parameters          {} ({})\n"
      "forward flops       {:.4g}\n"
      "activations         {}\n"
      "saved for backward  {}\n"
      "floor               {} at {}\n"
      "unconstrained peak  {} ({} bytes)\n",
      graph.name(), facts.nodes, facts.edges, facts.control_edges, facts.levels,
      facts.parameters, FormatBytes(facts.parameter_bytes), facts.forward_flops,
      FormatBytes(facts.activation_bytes), FormatBytes(facts.saved_bytes),
      FormatBytes(memory.floor.bytes), floor_node,
      FormatBytes(memory.plan.device_bytes), memory.plan.device_bytes);
}

Json ToJson(const Graph& graph, const GraphFacts& facts,
            const StepFit& memory) {
  return {{"graph", graph.name()},
          {"nodes", facts.nodes},
          {"edges", facts.edges},
          {"control_edges", facts.control_edges},
          {"levels", facts.levels},
          {"parameters", facts.parameters},
          {"parameter_bytes", facts.parameter_bytes},
          {"forward_flops", facts.forward_flops},
          {"activation_bytes", facts.activation_bytes},
          {"saved_bytes", facts.saved_bytes},
          {"floor", FloorJson(memory.floor, graph)},
          {"unconstrained_peak_bytes", memory.plan.device_bytes}};
}

// Without --memory these flags would have no effect.
absl::Status CheckMemoryFlags(const InspectFlags& flags) {
  if (flags.memory_report ||
      (flags.step.lms.mode == LmsMode::kOff && !Recomputes(flags.step.lms) &&
       !flags.step.device_memory.has_value() &&
       !flags.step.host_memory.has_value())) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "--memory: needed with --lms, --lms_recompute, --device_memory and "
      "--host_memory, which change its output");
}

absl::Status AddMemory(const InspectFlags& flags, SourceGraph source,
                       std::string& text, Json& json) {
  SPILLWAY_RETURN_IF_ERROR(EditGraph(flags.step, source.graph).status());
  SPILLWAY_ASSIGN_OR_RETURN(const StepFit simulation,
                            FitStep({.graph = &source.graph,
                                     .fetches = source.fetches,
                                     .options = &flags.step}));
  SPILLWAY_RETURN_IF_ERROR(simulation.fits);
  text += '\n' + FormatMemory(simulation.plan, source.graph, flags.memory_rows);
  json["memory"] = MemoryJson(simulation.plan, source.graph);
  return absl::OkStatus();
}

}  // namespace

void AddInspectFlags(FlagSet& set, InspectFlags& flags) {
  AddGraphSourceFlags(set, flags.source);
  AddPlanOnlyFlag(set, flags.source.model.onnx);
  AddDeviceFlags(set, flags.step);
  SharePrecision(set, flags.source.model, flags.step);
  set.BeginGroup("Memory report");
  CLI::Option* report =
      set.Bool("--memory", flags.memory_report,
               "also show the memory of a step planned with the LMS and memory "
               "flags: the curve, and each buffer at the peak");
  set.Int("--memory_rows", flags.memory_rows,
          {.help = "buffers to list as text; default 20", .max = 1'000'000})
      ->needs(report);
  AddMemoryFlags(set, flags.step, {.decider = Decider::kFlags});
  AddLmsFlags(set, flags.step.lms, Decider::kFlags);
  set.BeginGroup("Files");
  set.File("--out", flags.out, "write the graph to this graph file");
  set.File("--dot", flags.dot, "write it as Graphviz text");
  AddResultFlags(set, flags.result);
}

absl::Status RunInspect(const InspectFlags& flags) {
  Outputs outputs(flags.result, {{"--out", flags.out}, {"--dot", flags.dot}});
  SPILLWAY_RETURN_IF_ERROR(outputs.Check());
  SPILLWAY_RETURN_IF_ERROR(CheckMemoryFlags(flags));
  SPILLWAY_ASSIGN_OR_RETURN(const SourceGraph source,
                            LoadGraph(flags.source, flags.step));
  SPILLWAY_ASSIGN_OR_RETURN(const GraphFacts facts,
                            FindFacts(source.graph, StandardOps()));
  StepOptions unlimited = flags.step;
  unlimited.device_memory.reset();
  unlimited.host_memory.reset();
  unlimited.schedule = ScheduleKind::kAuto;
  SPILLWAY_ASSIGN_OR_RETURN(const StepFit unconstrained,
                            FitStep({.graph = &source.graph,
                                     .fetches = source.fetches,
                                     .options = &unlimited}));
  std::string text = FormatFacts(source.graph, facts, unconstrained);
  Json json = ToJson(source.graph, facts, unconstrained);
  if (flags.memory_report)
    SPILLWAY_RETURN_IF_ERROR(AddMemory(flags, source, text, json));
  outputs.Print(text);
  outputs.WriteJson(json);
  outputs.Write("--out", [&] { return FormatGraph(source.graph); });
  outputs.Write("--dot", [&] { return FormatDot(source.graph); });
  return outputs.Finish();
}

}  // namespace spillway
