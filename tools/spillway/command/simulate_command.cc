#include "tools/spillway/command/simulate_command.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"
#include "simulator/report/html_report.h"
#include "tools/spillway/command/step_timing.h"
#include "tools/spillway/flags/lms_flags.h"
#include "tools/spillway/flags/step_flags.h"
#include "tools/spillway/output/host_nodes_text.h"
#include "tools/spillway/output/result_json.h"
#include "tools/spillway/output/scaling_table.h"
#include "tools/spillway/output/swap_text.h"
#include "tuner/max_batch.h"
#include "tuner/profile/resolve_profile.h"
#include "tuner/simulate.h"
#include "tuner/step_report.h"

namespace spillway {
namespace {

absl::Status CheckMaxBatchFlags(const SimulateFlags& flags) {
  if (NeedsTuning(flags.step.lms) || !flags.plan.empty()) {
    return InvalidArgument(
        "--find_max_batch: takes fixed LMS options; tune --find_max_batch "
        "tunes each batch size");
  }
  if (flags.step.device_memory || IsNamed(flags.step.profile)) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "--find_max_batch: needs --device_memory, the budget to fit");
}

absl::StatusOr<MaxBatch> LargestBatch(const SimulateFlags& flags) {
  SPILLWAY_RETURN_IF_ERROR(CheckMaxBatchFlags(flags));
  return FindMaxBatchOf(flags.source, flags.step);
}

std::string FormatFittingBatches(const MaxBatch& found) {
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
  return fmt::format("{}: {} out ({}), {} in ({}) a step{}\n{}",
                     Counted(swaps.tensors, "tensor"), swaps.swap_outs,
                     FormatBytes(swaps.out_bytes), swaps.swap_ins,
                     FormatBytes(swaps.in_bytes), late, FormatFedAgain(swaps));
}

std::string FormatResult(const StepPrediction& simulation) {
  const StepOptions& options = simulation.chosen.options;
  const Graph& graph = simulation.chosen.graph;
  const MemoryFloor& floor = simulation.floor;
  const int64_t smallest_bytes = simulation.smallest_device_bytes;
  return fmt::format(
      "fits         {}\n"
      "device peak  {}\n"
      "host peak    {}\n"
      "swapped      {}"
      "{}"
      "smallest     {} ({} bytes) of device memory would do\n"
      "floor        {} at {}\n",
      simulation.fits.ok() ? "yes" : "no",
      FormatPeak(simulation.plan.device_bytes, options.device_memory),
      FormatPeak(simulation.plan.host_bytes, HostMemoryOf(options)),
      FormatSwaps(CountSwaps(simulation.plan)),
      FormatClones(simulation.chosen.edit.clones), FormatBytes(smallest_bytes),
      smallest_bytes, FormatBytes(floor.bytes),
      floor.node.is_valid() ? graph.node(floor.node).name : "-");
}

Json ToJson(const StepPrediction& simulation, const Advice& advice) {
  const ChosenStep& chosen = simulation.chosen;
  const StepOptions& options = chosen.options;
  Json json = {{"fits", simulation.fits.ok()},
               {"peak_device_bytes", simulation.plan.device_bytes},
               {"peak_host_bytes", simulation.plan.host_bytes},
               {"device_memory", nullptr},
               {"host_memory", HostMemoryOf(options)},
               {"swap", SwapJson(CountSwaps(simulation.plan))},
               {"recompute", ClonesJson(chosen.edit.clones)},
               {"smallest_device_memory", simulation.smallest_device_bytes},
               {"floor", FloorJson(simulation.floor, chosen.graph)},
               {"lms", LmsJson(chosen.lms)},
               {"edit_ms", Milliseconds(chosen.edit.edit_ns)},
               {"dropped", DroppedJson(chosen.edit)}};
  if (options.device_memory) json["device_memory"] = *options.device_memory;
  if (!simulation.fits.ok()) {
    json["reason"] =
        std::string(InFlagTerms(simulation.fits, advice).message());
  }
  return json;
}

// The table of --workers.
absl::Status AddWorkers(const SimulateFlags& flags,
                        const StepPrediction& predicted, int64_t batch_size,
                        std::string& text, Json& json) {
  StepOptions options = flags.step;
  options.warns_of_profile = false;
  SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile,
                            ResolveProfile(options));
  return AddScaling({.graph = &predicted.chosen.graph,
                     .plan = &predicted.plan,
                     .algorithms = predicted.chosen.algorithms,
                     .profile = &profile,
                     .ranks = flags.network.workers,
                     .ops = options.ops},
                    batch_size, text, json);
}

}  // namespace

void AddSimulateFlags(FlagSet& set, SimulateFlags& flags) {
  AddGraphSourceFlags(set, flags.source);
  AddPlanOnlyFlag(set, flags.source.model.onnx);
  AddDeviceFlags(set, flags.step);
  SharePrecision(set, flags.source.model, flags.step);
  AddMemoryFlags(set, flags.step, {.owner = MemoryOwner::kProfile});
  AddPlaceFlag(set, flags.source.place);
  AddLmsFlags(set, flags.step.lms);
  AddPlanFlag(set, flags.plan);
  set.BeginGroup("Time");
  AddProfileFlag(
      set, flags.step,
      "device profile: predict the step's time on that machine; its memory "
      "is the budget, unless --device_memory is given; default: what spillway "
      "profile measured here, else assumed rates");
  AddLinkFlag(set, flags.step);
  AddCudaGraphFlag(set, flags.step);
  set.File("--trace", flags.trace,
           "write the predicted timeline as Chrome trace JSON");
  set.File("--report", flags.report,
           "write the prediction as an HTML page (one file)");
  AddNetworkFlags(set, flags.network, flags.step, flags.source);
  set.BeginGroup("Search");
  set.Bool("--find_max_batch", flags.find_max_batch,
           "search the largest batch size that fits --device_memory with these "
           "LMS options, and simulate that");
  AddResultFlags(set, flags.result);
}

absl::Status RunSimulate(const SimulateFlags& given) {
  SimulateFlags flags = given;
  Outputs outputs(flags.result,
                  {{"--trace", flags.trace}, {"--report", flags.report}});
  SPILLWAY_RETURN_IF_ERROR(outputs.Check());
  MaxBatch max_batch;
  std::string text;
  if (flags.find_max_batch) {
    SPILLWAY_ASSIGN_OR_RETURN(max_batch, LargestBatch(flags));
    flags.step.warns_of_profile = false;
    text = FormatFittingBatches(max_batch);
    // If no batch fits, the answer is the memory that one image needs.
    flags.source.model.batch_size = std::max<int64_t>(max_batch.batch_size, 1);
  }
  SPILLWAY_RETURN_IF_ERROR(TakeBuckets(flags.plan, flags.source.exchange));
  SPILLWAY_ASSIGN_OR_RETURN(const SourceGraph source,
                            LoadGraph(flags.source, flags.step));
  SavedPlan plan;
  SPILLWAY_RETURN_IF_ERROR(
      ReadPlanFlag(flags.plan, source.graph, plan, flags.step));
  SPILLWAY_ASSIGN_OR_RETURN(const StepPrediction predicted,
                            Simulate(ProgramOf(source), flags.step));
  const StepTiming timing = {.profile = predicted.profile,
                             .step = predicted.step,
                             .batch_size = source.batch_size,
                             .ranks = flags.source.ranks};
  text += FormatResult(predicted) + FormatHostNodes(source.placement) +
          FormatTiming(timing) +
          FormatBound(predicted.bound, predicted.step.step_ns);
  Json json =
      ToJson(predicted, {.has_batch_size = flags.source.model.is_given()});
  AddHostNodesJson(source.placement, json);
  AddTimingJson(timing, json);
  json["bound"] = BoundJson(predicted.bound, predicted.step.step_ns);
  json["algorithms"] = AlgorithmsJson(predicted.chosen.algorithms);
  if (!flags.network.workers.empty()) {
    SPILLWAY_RETURN_IF_ERROR(
        AddWorkers(flags, predicted, source.batch_size, text, json));
  }
  if (flags.find_max_batch) {
    json["max_batch_size"] = max_batch.batch_size;
    json["tried"] = TriedJson(max_batch);
  }
  outputs.Print(text);
  outputs.WriteJson(json);
  outputs.Write("--trace", [&] {
    return FormatChromeTrace({{"predicted", &predicted.step.timeline}});
  });
  outputs.Write("--report", [&] {
    return FormatHtmlReport(ReportOf(predicted, HeadOf(flags.source, source)));
  });
  return outputs.Finish(predicted.fits);
}

}  // namespace spillway
