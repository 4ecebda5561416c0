#include "tools/spillway/inspect_command.h"

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/plan/compile.h"
#include "fmt/format.h"
#include "graph/dot.h"
#include "graph/json_format.h"
#include "ops/all_ops.h"
#include "tools/spillway/graph_facts.h"
#include "tools/spillway/result_json.h"
#include "tools/spillway/step_plan.h"

namespace spillway {
namespace {

// Memory of one step without LMS and without a budget.
struct Memory {
  MemoryFloor floor = {};
  int64_t unconstrained_peak_bytes = 0;
};

absl::StatusOr<Memory> FindMemory(const SourceGraph& source,
                                  const DeviceFlags& device) {
  ASSIGN_OR_RETURN(const PlanInputs inputs,
                   PreparePlan(source.graph, source.fetches, device));
  ASSIGN_OR_RETURN(const ExecutionPlan plan, MakePlan(source.graph, inputs));
  return Memory{.floor = FindFloor(source.graph, StandardOps(), inputs.schedule,
                                   inputs.options),
                .unconstrained_peak_bytes = plan.device_bytes};
}

std::string FormatFacts(const Graph& graph, const GraphFacts& facts,
                        const Memory& memory) {
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
      FormatBytes(memory.unconstrained_peak_bytes),
      memory.unconstrained_peak_bytes);
}

Json ToJson(const Graph& graph, const GraphFacts& facts, const Memory& memory) {
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
          {"unconstrained_peak_bytes", memory.unconstrained_peak_bytes}};
}

}  // namespace

void AddInspectFlags(FlagSet& set, InspectFlags& flags) {
  AddGraphSourceFlags(set, flags.source);
  AddDeviceFlags(set, flags.device);
  set.BeginGroup("Files");
  set.Text("--out", flags.out, "write the graph to this graph file");
  set.Text("--dot", flags.dot, "write it as Graphviz text");
  AddResultFlags(set, flags.result);
}

absl::Status RunInspect(const InspectFlags& flags) {
  const OutputFile out = {.flag = "--out", .path = flags.out};
  const OutputFile dot = {.flag = "--dot", .path = flags.dot};
  RETURN_IF_ERROR(CheckWritable(out));
  RETURN_IF_ERROR(CheckWritable(dot));
  RETURN_IF_ERROR(CheckWritable(flags.result));
  ASSIGN_OR_RETURN(const SourceGraph source, LoadGraph(flags.source));
  ASSIGN_OR_RETURN(const GraphFacts facts,
                   FindFacts(source.graph, StandardOps()));
  ASSIGN_OR_RETURN(const Memory memory, FindMemory(source, flags.device));
  RETURN_IF_ERROR(WriteOutput(out, FormatGraph(source.graph)));
  RETURN_IF_ERROR(WriteOutput(dot, FormatDot(source.graph)));
  RETURN_IF_ERROR(
      PrintText(flags.result, FormatFacts(source.graph, facts, memory)));
  return WriteJson(flags.result, ToJson(source.graph, facts, memory));
}

}  // namespace spillway
