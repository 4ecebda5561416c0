#include "tools/spillway/simulate_command.h"

#include <string>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/plan/compile.h"
#include "fmt/format.h"
#include "ops/all_ops.h"
#include "tools/spillway/lms_flags.h"
#include "tools/spillway/result_json.h"
#include "tools/spillway/step_plan.h"

namespace spillway {
namespace {

struct Simulation {
  absl::Status fits;   // or RESOURCE_EXHAUSTED, with what is missing
  ExecutionPlan plan;  // where it does not fit: the smallest there is
  MemoryFloor floor;
};

absl::StatusOr<Simulation> Simulate(const SourceGraph& source,
                                    const DeviceFlags& device,
                                    const MemoryFlags& memory) {
  ASSIGN_OR_RETURN(PlanInputs inputs,
                   PreparePlan(source.graph, source.fetches, device));
  Simulation simulation;
  simulation.floor =
      FindFloor(source.graph, StandardOps(), inputs.schedule, inputs.options);
  inputs.options.device_budget_bytes = memory.device_memory;
  inputs.options.host_budget_bytes = HostMemory(memory);
  absl::StatusOr<ExecutionPlan> plan = MakePlan(source.graph, inputs);
  if (absl::IsResourceExhausted(plan.status())) {
    simulation.fits = plan.status();
    inputs.options.device_budget_bytes.reset();
    inputs.options.host_budget_bytes.reset();
    plan = MakePlan(source.graph, inputs);
  }
  ASSIGN_OR_RETURN(simulation.plan, std::move(plan));
  return simulation;
}

std::string FormatPeak(int64_t bytes, std::optional<int64_t> budget) {
  const std::string peak =
      fmt::format("{} ({} bytes)", FormatBytes(bytes), bytes);
  return budget ? fmt::format("{}, budget {}", peak, FormatBytes(*budget))
                : peak;
}

std::string FormatResult(const SimulateFlags& flags, const Graph& graph,
                         const Simulation& simulation) {
  const SwapCounts swaps = CountSwaps(simulation.plan);
  const MemoryFloor& floor = simulation.floor;
  return fmt::format(
      "fits         {}\n"
      "device peak  {}\n"
      "host peak    {}\n"
      "swapped      {} tensors: {} out ({}), {} in ({}) a step\n"
      "floor        {} at {}\n",
      simulation.fits.ok() ? "yes" : "no",
      FormatPeak(simulation.plan.device_bytes, flags.memory.device_memory),
      FormatPeak(simulation.plan.host_bytes, HostMemory(flags.memory)),
      swaps.tensors, swaps.swap_outs, FormatBytes(swaps.out_bytes),
      swaps.swap_ins, FormatBytes(swaps.in_bytes), FormatBytes(floor.bytes),
      floor.node.is_valid() ? graph.node(floor.node).name : "-");
}

Json ToJson(const SimulateFlags& flags, const Graph& graph,
            const Simulation& simulation, const LmsReport& report) {
  Json json = {{"fits", simulation.fits.ok()},
               {"peak_device_bytes", simulation.plan.device_bytes},
               {"peak_host_bytes", simulation.plan.host_bytes},
               {"device_memory", nullptr},
               {"host_memory", HostMemory(flags.memory)},
               {"swap", SwapJson(CountSwaps(simulation.plan))},
               {"floor", FloorJson(simulation.floor, graph)},
               {"lms", LmsJson(flags.lms)},
               {"edit_ms", static_cast<double>(report.edit_ns) * 1e-6},
               {"dropped", DroppedJson(report)}};
  if (flags.memory.device_memory) {
    json["device_memory"] = *flags.memory.device_memory;
  }
  if (!simulation.fits.ok()) {
    json["reason"] = std::string(simulation.fits.message());
  }
  return json;
}

}  // namespace

void AddSimulateFlags(FlagSet& set, SimulateFlags& flags) {
  AddGraphSourceFlags(set, flags.source);
  AddDeviceFlags(set, flags.device);
  AddMemoryFlags(set, flags.memory);
  AddLmsFlags(set, flags.lms);
  AddResultFlags(set, flags.result);
}

absl::Status RunSimulate(const SimulateFlags& flags) {
  RETURN_IF_ERROR(CheckWritable(flags.result));
  ASSIGN_OR_RETURN(SourceGraph source, LoadGraph(flags.source));
  ASSIGN_OR_RETURN(const LmsReport report, EditGraph(flags.lms, source.graph));
  ASSIGN_OR_RETURN(const Simulation simulation,
                   Simulate(source, flags.device, flags.memory));
  RETURN_IF_ERROR(
      PrintText(flags.result, FormatResult(flags, source.graph, simulation)));
  RETURN_IF_ERROR(
      WriteJson(flags.result, ToJson(flags, source.graph, simulation, report)));
  return simulation.fits;
}

}  // namespace spillway
