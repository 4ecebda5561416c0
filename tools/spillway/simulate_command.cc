#include "tools/spillway/simulate_command.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"
#include "lms/lms.h"
#include "simulator/device_profile.h"
#include "simulator/memory_over_time.h"
#include "tools/spillway/chosen_step.h"
#include "tools/spillway/lms_flags.h"
#include "tools/spillway/max_batch.h"
#include "tools/spillway/profile_files.h"
#include "tools/spillway/report/html_report.h"
#include "tools/spillway/result_json.h"
#include "tools/spillway/simulation.h"
#include "tools/spillway/step_report.h"
#include "tools/spillway/step_timing.h"
#include "tools/spillway/tuning.h"

namespace spillway {
namespace {

// Of the graph, edited or not, under the flags' budgets.
PlanSpec PlanSpecOf(const SimulateFlags& flags, const SourceGraph& source,
                    const DeviceProfile& profile) {
  return {.graph = &source.graph,
          .fetches = source.fetches,
          .device = &flags.device,
          .memory = flags.memory,
          .profile = &profile};
}

absl::StatusOr<BatchAttempt> TryBatch(const SimulateFlags& flags,
                                      const DeviceProfile& profile,
                                      int64_t batch_size) {
  GraphSourceFlags with_batch = flags.source;
  with_batch.model.batch_size = batch_size;
  SPILLWAY_ASSIGN_OR_RETURN(SourceGraph source,
                            LoadGraph(with_batch, flags.device));
  if (flags.lms.mode != LmsMode::kOff) {
    SPILLWAY_RETURN_IF_ERROR(ApplyLms(flags.lms, source.graph).status());
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Simulation simulation,
                            Simulate(PlanSpecOf(flags, source, profile)));
  return BatchAttempt{.batch_size = batch_size,
                      .fits = simulation.fits.ok(),
                      .peak_device_bytes = simulation.plan.device_bytes,
                      .peak_host_bytes = simulation.plan.host_bytes};
}

absl::Status CheckMaxBatchFlags(const SimulateFlags& flags) {
  if (NeedsTuning(flags.lms) || !flags.plan.empty()) {
    return InvalidArgument(
        "--find_max_batch: takes fixed LMS options; tune --find_max_batch "
        "tunes each batch size");
  }
  if (flags.memory.device_memory) return absl::OkStatus();
  return InvalidArgument(
      "--find_max_batch: needs --device_memory, the budget to fit");
}

absl::StatusOr<MaxBatch> SearchMaxBatch(const SimulateFlags& flags,
                                        const DeviceProfile& profile) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t start,
                            FirstBatch(flags.source.model));
  SPILLWAY_RETURN_IF_ERROR(CheckMaxBatchFlags(flags));
  return FindMaxBatch(start, kMostImages, [&](int64_t batch_size) {
    return TryBatch(flags, profile, batch_size);
  });
}

std::string FormatMaxBatch(const MaxBatch& found) {
  std::string text;
  for (const BatchAttempt& attempt : found.tried) {
    text += fmt::format("batch {:<8}  {:<4} device {}, host {}\n",
                        attempt.batch_size, attempt.fits ? "fits" : "no",
                        FormatBytes(attempt.peak_device_bytes),
                        FormatBytes(attempt.peak_host_bytes));
  }
  return text + fmt::format("largest batch {}\n", found.batch_size);
}

Json TriedJson(const MaxBatch& found) {
  Json tried = Json::array();
  for (const BatchAttempt& attempt : found.tried) {
    tried.push_back({{"batch_size", attempt.batch_size},
                     {"fits", attempt.fits},
                     {"peak_device_bytes", attempt.peak_device_bytes},
                     {"peak_host_bytes", attempt.peak_host_bytes}});
  }
  return tried;
}

std::string FormatPeak(int64_t bytes, std::optional<int64_t> budget) {
  const std::string peak =
      fmt::format("{} ({} bytes)", FormatBytes(bytes), bytes);
  return budget ? fmt::format("{}, budget {}", peak, FormatBytes(*budget))
                : peak;
}

std::string FormatSwaps(const SwapCounts& swaps) {
  const std::string late = swaps.delayed_swap_ins == 0
                               ? ""
                               : fmt::format(", {} of these without prefetch",
                                             swaps.delayed_swap_ins);
  return fmt::format("{} tensors: {} out ({}), {} in ({}) a step{}",
                     swaps.tensors, swaps.swap_outs,
                     FormatBytes(swaps.out_bytes), swaps.swap_ins,
                     FormatBytes(swaps.in_bytes), late);
}

std::string FormatResult(const SimulateFlags& flags, const Graph& graph,
                         const Simulation& simulation, int64_t smallest_bytes) {
  const MemoryFloor& floor = simulation.floor;
  return fmt::format(
      "fits         {}\n"
      "device peak  {}\n"
      "host peak    {}\n"
      "swapped      {}\n"
      "smallest     {} ({} bytes) of device memory would do\n"
      "floor        {} at {}\n",
      simulation.fits.ok() ? "yes" : "no",
      FormatPeak(simulation.plan.device_bytes, flags.memory.device_memory),
      FormatPeak(simulation.plan.host_bytes, HostMemory(flags.memory)),
      FormatSwaps(CountSwaps(simulation.plan)), FormatBytes(smallest_bytes),
      smallest_bytes, FormatBytes(floor.bytes),
      floor.node.is_valid() ? graph.node(floor.node).name : "-");
}

// A profile that was named is a machine: its memory is the budget, unless there
// is another.
absl::StatusOr<DeviceProfile> FindProfile(SimulateFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(DeviceProfile profile,
                            ResolveProfile(flags.profile, flags.device));
  if (!flags.profile.empty() && !flags.memory.device_memory) {
    flags.memory.device_memory = profile.memory_bytes;
  }
  return profile;
}

Json ToJson(const SimulateFlags& flags, const Graph& graph,
            const Simulation& simulation, int64_t smallest_bytes,
            const LmsReport& report) {
  Json json = {{"fits", simulation.fits.ok()},
               {"peak_device_bytes", simulation.plan.device_bytes},
               {"peak_host_bytes", simulation.plan.host_bytes},
               {"device_memory", nullptr},
               {"host_memory", HostMemory(flags.memory)},
               {"swap", SwapJson(CountSwaps(simulation.plan))},
               {"smallest_device_memory", smallest_bytes},
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

std::string FormatReport(const SimulateFlags& flags, const SourceGraph& source,
                         const ExecutionPlan& plan, const StepTiming& timing,
                         const StepTimeBound& bound) {
  HtmlReport report = MakeStepReport({.batch_size = source.batch_size,
                                      .precision = flags.source.model.precision,
                                      .profile = timing.profile,
                                      .lms = &flags.lms,
                                      .memory = &flags.memory,
                                      .graph = &source.graph,
                                      .plan = &plan,
                                      .predicted = &timing.step});
  report.bound = {.step_ns = bound.step_ns, .reason = BoundReason(bound)};
  return FormatHtmlReport(report);
}

}  // namespace

void AddSimulateFlags(FlagSet& set, SimulateFlags& flags) {
  AddGraphSourceFlags(set, flags.source);
  AddDeviceFlags(set, flags.device);
  SharePrecision(set, flags.source.model, flags.device);
  AddMemoryFlags(set, flags.memory);
  AddLmsFlags(set, flags.lms);
  AddPlanFlag(set, flags.plan);
  set.BeginGroup("Time");
  set.Text(
      "--profile", flags.profile,
      "device profile: predict the step's time on that machine; its memory "
      "is the budget, unless --device_memory is given; default: what spillway "
      "profile measured here, else assumed rates");
  AddLinkFlag(set, flags.device);
  AddCudaGraphFlag(set, flags.device);
  set.Text("--trace", flags.trace,
           "write the predicted timeline as Chrome trace JSON");
  set.Text("--report", flags.report,
           "write what was predicted as a page to look at (HTML, one file)");
  set.BeginGroup("Search");
  set.Bool("--find_max_batch", flags.find_max_batch,
           "search the largest batch size that fits --device_memory with these "
           "LMS options, and simulate that");
  AddResultFlags(set, flags.result);
}

absl::Status RunSimulate(const SimulateFlags& given) {
  SimulateFlags flags = given;
  const OutputFile trace = {.flag = "--trace", .path = given.trace};
  SPILLWAY_RETURN_IF_ERROR(CheckWritable(flags.result));
  SPILLWAY_RETURN_IF_ERROR(CheckWritable(trace));
  const OutputFile report_file = {.flag = "--report", .path = given.report};
  SPILLWAY_RETURN_IF_ERROR(CheckWritable(report_file));
  SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile, FindProfile(flags));
  MaxBatch max_batch;
  std::string text;
  if (flags.find_max_batch) {
    SPILLWAY_ASSIGN_OR_RETURN(max_batch, SearchMaxBatch(flags, profile));
    text = FormatMaxBatch(max_batch);
    // Where nothing fits, what one image needs is the answer.
    flags.source.model.batch_size = std::max<int64_t>(max_batch.batch_size, 1);
  }
  SPILLWAY_ASSIGN_OR_RETURN(SourceGraph source,
                            LoadGraph(flags.source, flags.device));
  SPILLWAY_ASSIGN_OR_RETURN(ChosenStep chosen,
                            ChooseStep({.graph = &source.graph,
                                        .fetches = source.fetches,
                                        .lms = flags.lms,
                                        .plan = flags.plan,
                                        .profile = flags.profile,
                                        .device = flags.device,
                                        .memory = flags.memory,
                                        .is_only_predicted = true}));
  const Graph original = std::exchange(source.graph, std::move(chosen.graph));
  source.fetches = std::move(chosen.fetches);
  flags.lms = chosen.lms;
  flags.memory = chosen.memory;
  PlanSpec spec = PlanSpecOf(flags, source, profile);
  spec.algorithms = chosen.algorithms;
  SPILLWAY_ASSIGN_OR_RETURN(const Simulation simulation,
                            Simulate(spec, std::move(chosen.order)));
  SPILLWAY_ASSIGN_OR_RETURN(
      const int64_t smallest_bytes,
      SmallestDeviceMemory(source.graph, simulation.inputs, flags.memory));
  text += FormatResult(flags, source.graph, simulation, smallest_bytes);
  Json json =
      ToJson(flags, source.graph, simulation, smallest_bytes, chosen.edit);
  StepTiming timing =
      TimeStep(source, simulation.plan, chosen.algorithms, profile);
  AddMemoryCounters(simulation.plan, timing.step);
  const StepTimeBound bound = BoundFor(original, simulation.inputs, profile);
  text += FormatTiming(timing) + FormatBound(bound, timing.step.step_ns);
  AddTimingJson(timing, json);
  json["bound"] = BoundJson(bound, timing.step.step_ns);
  json["algorithms"] = AlgorithmsJson(chosen.algorithms);
  SPILLWAY_RETURN_IF_ERROR(WriteOutput(
      trace, FormatChromeTrace({{"predicted", &timing.step.timeline}})));
  if (!flags.report.empty()) {
    SPILLWAY_RETURN_IF_ERROR(WriteOutput(
        report_file,
        FormatReport(flags, source, simulation.plan, timing, bound)));
  }
  if (flags.find_max_batch) {
    json["max_batch_size"] = max_batch.batch_size;
    json["tried"] = TriedJson(max_batch);
  }
  SPILLWAY_RETURN_IF_ERROR(PrintText(flags.result, text));
  SPILLWAY_RETURN_IF_ERROR(WriteJson(flags.result, json));
  return simulation.fits;
}

}  // namespace spillway
