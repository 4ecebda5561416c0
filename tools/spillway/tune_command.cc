#include "tools/spillway/tune_command.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"
#include "ops/all_ops.h"
#include "simulator/memory_over_time.h"
#include "tools/spillway/chosen_step.h"
#include "tools/spillway/lms_flags.h"
#include "tools/spillway/max_batch.h"
#include "tools/spillway/profile_files.h"
#include "tools/spillway/tune_report.h"
#include "tools/spillway/tuning.h"

namespace spillway {
namespace {

absl::StatusOr<SourceGraph> LoadSource(const TuneFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(SourceGraph source,
                            LoadGraph(flags.source, flags.device));
  if (flags.fetch.empty()) return source;
  SPILLWAY_ASSIGN_OR_RETURN(source.fetches,
                            FindFetches(flags.fetch, source.graph));
  return source;
}

absl::StatusOr<TunedStep> TuneSource(const TuneFlags& flags,
                                     const SourceGraph& source,
                                     const DeviceProfile& profile) {
  const TuningSpec spec = {.graph = &source.graph,
                           .fetches = source.fetches,
                           .device = &flags.device,
                           .memory = flags.memory,
                           .lms = flags.lms,
                           .profile = &profile,
                           .time_limit = flags.time_limit};
  if (flags.strategy != "tflms") return TuneStep(spec);
  return TuneAsTflms(spec, {.options = flags.lms,
                            .limits = MakeTflmsLimits(
                                flags.tflms, *flags.memory.device_memory),
                            .batch_size = source.batch_size});
}

absl::StatusOr<BatchAttempt> TryBatch(const TuneFlags& flags,
                                      const DeviceProfile& profile,
                                      int64_t batch_size) {
  GraphSourceFlags with_batch = flags.source;
  with_batch.model.batch_size = batch_size;
  SPILLWAY_ASSIGN_OR_RETURN(const SourceGraph source,
                            LoadGraph(with_batch, flags.device));
  const absl::StatusOr<TunedStep> tuned = TuneSource(flags, source, profile);
  if (absl::IsResourceExhausted(tuned.status())) {
    return BatchAttempt{.batch_size = batch_size};
  }
  SPILLWAY_RETURN_IF_ERROR(tuned.status());
  return BatchAttempt{.batch_size = batch_size,
                      .fits = true,
                      .peak_device_bytes = tuned->chosen.plan.device_bytes,
                      .peak_host_bytes = tuned->chosen.plan.host_bytes,
                      .step_ns = tuned->chosen.step.step_ns};
}

absl::StatusOr<MaxBatch> SearchMaxBatch(const TuneFlags& flags,
                                        const DeviceProfile& profile) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t start,
                            FirstBatch(flags.source.model));
  return FindMaxBatch(start, kMostImages, [&](int64_t batch_size) {
    return TryBatch(flags, profile, batch_size);
  });
}

std::string FormatMaxBatch(const MaxBatch& found) {
  std::string text;
  for (const BatchAttempt& attempt : found.tried) {
    if (!attempt.fits) {
      text += fmt::format("batch {:<8}  no\n", attempt.batch_size);
      continue;
    }
    text +=
        fmt::format("batch {:<8}  fits, {:.1f} images/s, device {}, host {}\n",
                    attempt.batch_size,
                    static_cast<double>(attempt.batch_size) * 1e9 /
                        static_cast<double>(attempt.step_ns),
                    FormatBytes(attempt.peak_device_bytes),
                    FormatBytes(attempt.peak_host_bytes));
  }
  return text + fmt::format("largest batch {}\n\n", found.batch_size);
}

Json MaxBatchJson(const MaxBatch& found) {
  Json tried = Json::array();
  for (const BatchAttempt& attempt : found.tried) {
    tried.push_back({{"batch_size", attempt.batch_size},
                     {"fits", attempt.fits},
                     {"peak_device_bytes", attempt.peak_device_bytes},
                     {"peak_host_bytes", attempt.peak_host_bytes},
                     {"step_ms", static_cast<double>(attempt.step_ns) * 1e-6}});
  }
  return tried;
}

absl::Status CheckFlags(const TuneFlags& flags) {
  if (flags.lms.mode == LmsMode::kOff) {
    return InvalidArgument("--lms: tune needs auto, v1 or v2");
  }
  if (!flags.fetch.empty() && flags.source.graph.empty()) {
    return InvalidArgument(
        "--fetch: needs --graph; a model's step returns loss and accuracy");
  }
  if (flags.memory.device_memory == int64_t{0}) {
    return InvalidArgument("--device_memory: a budget of 0 bytes fits nothing");
  }
  SPILLWAY_RETURN_IF_ERROR(CheckWritable({.flag = "--out", .path = flags.out}));
  SPILLWAY_RETURN_IF_ERROR(
      CheckWritable({.flag = "--trace", .path = flags.trace}));
  SPILLWAY_RETURN_IF_ERROR(
      CheckWritable({.flag = "--report", .path = flags.report}));
  return CheckWritable(flags.result);
}

// A profile that was named is a machine: its memory is the budget, and the most
// that one may ask for.
absl::Status SetBudget(const DeviceProfile& profile, TuneFlags& flags) {
  std::optional<int64_t>& budget = flags.memory.device_memory;
  if (flags.profile.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(budget, DeviceBudget(flags.device, flags.memory));
    return absl::OkStatus();
  }
  if (budget && *budget > profile.memory_bytes) {
    return InvalidArgument(fmt::format(
        "--device_memory: {} is more than the {} of {}", FormatBytes(*budget),
        FormatBytes(profile.memory_bytes), profile.name));
  }
  if (!budget) budget = profile.memory_bytes;
  return absl::OkStatus();
}

absl::Status WriteFiles(const TuneFlags& flags, const SourceGraph& source,
                        const TuneResult& result) {
  if (!flags.out.empty()) {
    SPILLWAY_RETURN_IF_ERROR(WriteOutput(
        {.flag = "--out", .path = flags.out},
        FormatSavedPlan(
            ToSavedPlan(*result.tuned, source.fetches, flags.memory),
            source.graph)));
  }
  SPILLWAY_RETURN_IF_ERROR(WriteOutput(
      {.flag = "--trace", .path = flags.trace},
      FormatChromeTrace({{"predicted", &result.tuned->chosen.step.timeline}})));
  if (flags.report.empty()) return absl::OkStatus();
  return WriteOutput({.flag = "--report", .path = flags.report},
                     FormatTuneReport(result));
}

}  // namespace

void AddTuneFlags(FlagSet& set, TuneFlags& flags) {
  AddGraphSourceFlags(set, flags.source);
  set.List("--fetch", flags.fetch,
           "with --graph: values that the step returns, as in run: name:0,...");
  AddDeviceFlags(set, flags.device);
  SharePrecision(set, flags.source.model, flags.device);
  AddLinkFlag(set, flags.device);
  AddCudaGraphFlag(set, flags.device);
  AddMemoryFlags(set, flags.memory);
  AddLmsFlags(set, flags.lms);
  set.BeginGroup("Search");
  set.Choice("--strategy", flags.strategy,
             {.help = "best (default): the least predicted time; tflms: what "
                      "TFLMS's own search chooses, judged by our simulator",
              .choices = {"best", "tflms"}});
  AddTflmsFlags(set, flags.tflms);
  set.Real("--time_limit", flags.time_limit,
           {.help = "seconds after which no further candidate is tried; the "
                    "choice then depends on the machine's speed"});
  set.Bool("--find_max_batch", flags.find_max_batch,
           "search the largest batch size that can be tuned to fit, and tune "
           "that");
  set.BeginGroup("Files");
  set.Text("--profile", flags.profile,
           "device profile: the machine to tune for; its memory is the budget, "
           "unless --device_memory is given");
  set.Text("--out", flags.out, "save the chosen plan, for --plan");
  set.Text("--trace", flags.trace,
           "write the predicted timeline as Chrome trace JSON");
  set.Text("--report", flags.report,
           "write what was predicted as a page to look at (HTML, one file)");
  AddResultFlags(set, flags.result);
}

absl::Status RunTune(const TuneFlags& given) {
  TuneFlags flags = given;
  SPILLWAY_RETURN_IF_ERROR(CheckFlags(flags));
  SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile,
                            ResolveProfile(flags.profile, flags.device));
  SPILLWAY_RETURN_IF_ERROR(SetBudget(profile, flags));
  MaxBatch max_batch;
  std::string text;
  if (flags.find_max_batch) {
    SPILLWAY_ASSIGN_OR_RETURN(max_batch, SearchMaxBatch(flags, profile));
    text = FormatMaxBatch(max_batch);
    // Where nothing fits, what one image lacks is the answer.
    flags.source.model.batch_size = std::max<int64_t>(max_batch.batch_size, 1);
  }
  SPILLWAY_ASSIGN_OR_RETURN(const SourceGraph source, LoadSource(flags));
  const auto begin = std::chrono::steady_clock::now();
  SPILLWAY_ASSIGN_OR_RETURN(TunedStep tuned,
                            TuneSource(flags, source, profile));
  const std::chrono::duration<double, std::milli> taken =
      std::chrono::steady_clock::now() - begin;
  AddMemoryCounters(tuned.chosen.plan, tuned.chosen.step);
  TuneResult result = {.flags = &flags,
                       .tuned = &tuned,
                       .profile = profile.name,
                       .batch_size = source.batch_size,
                       .tune_ms = taken.count()};
  SPILLWAY_ASSIGN_OR_RETURN(
      const PlanInputs inputs,
      PreparePlan({.graph = &source.graph,
                   .fetches = source.fetches,
                   .device = &flags.device,
                   .memory = flags.memory,
                   .profile = &profile,
                   .algorithms = tuned.chosen.recipe.algorithms}));
  result.floor =
      FindFloor(source.graph, StandardOps(), inputs.schedule, inputs.options);
  if (result.floor.node.is_valid()) {
    result.floor_node = source.graph.node(result.floor.node).name;
  }
  SPILLWAY_RETURN_IF_ERROR(WriteFiles(flags, source, result));
  SPILLWAY_RETURN_IF_ERROR(
      PrintText(flags.result, text + FormatTuneResult(result)));
  Json json = TuneJson(result);
  if (flags.find_max_batch) {
    json["max_batch_size"] = max_batch.batch_size;
    json["tried_batches"] = MaxBatchJson(max_batch);
  }
  return WriteJson(flags.result, json);
}

}  // namespace spillway
