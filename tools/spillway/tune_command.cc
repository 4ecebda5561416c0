#include "tools/spillway/tune_command.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "fmt/format.h"
#include "simulator/memory_over_time.h"
#include "tools/spillway/lms_flags.h"
#include "tools/spillway/tune_report.h"
#include "tuner/max_batch.h"
#include "tuner/profile/resolve_profile.h"
#include "tuner/tune.h"

namespace spillway {
namespace {

absl::StatusOr<SourceGraph> LoadSource(const TuneFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(SourceGraph source,
                            LoadGraph(flags.source, flags.step));
  if (flags.fetch.empty()) return source;
  SPILLWAY_ASSIGN_OR_RETURN(source.fetches,
                            FindFetches(flags.fetch, source.graph));
  return source;
}

// TFLMS's strategy takes its limits from the budget.
TflmsRequest RequestOf(const TuneFlags& flags, const SourceGraph& source) {
  return {.options = flags.step.lms,
          .limits = MakeTflmsLimits(flags.tflms, *flags.step.device_memory),
          .batch_size = source.batch_size};
}

absl::StatusOr<TuneResult> TuneSource(const TuneFlags& flags,
                                      const SourceGraph& source) {
  if (flags.strategy == "tflms") {
    return TuneAsTflms(ProgramOf(source), flags.step, RequestOf(flags, source));
  }
  StepOptions options = flags.step;
  options.log = nullptr;  // the result says the same
  return Tune(ProgramOf(source), options);
}

absl::StatusOr<MaxBatch> SearchBatches(const TuneFlags& flags,
                                       const DeviceProfile& profile) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t start,
                            FirstBatch(flags.source.model));
  const auto attempt = [&](int64_t batch_size) -> absl::StatusOr<BatchAttempt> {
    SPILLWAY_ASSIGN_OR_RETURN(const SourceGraph source,
                              LoadBatch(flags.source, flags.step, batch_size));
    const TuningSpec spec = {.graph = &source.graph,
                             .fetches = source.fetches,
                             .options = &flags.step,
                             .profile = &profile};
    return AttemptOf(batch_size,
                     flags.strategy == "tflms"
                         ? TuneStepAsTflms(spec, RequestOf(flags, source))
                         : TuneStep(spec));
  };
  return SearchMaxBatch({.start = start}, attempt);
}

std::string FormatTunedBatches(const MaxBatch& found) {
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
  if (flags.step.lms.mode == LmsMode::kOff) {
    return InvalidArgument("--lms: tune needs auto, v1 or v2");
  }
  if (!flags.fetch.empty() && flags.source.graph.empty()) {
    return InvalidArgument(
        "--fetch: needs --graph; a model's step returns loss and accuracy");
  }
  if (flags.step.device_memory == int64_t{0}) {
    return InvalidArgument("--device_memory: a budget of 0 bytes fits nothing");
  }
  SPILLWAY_RETURN_IF_ERROR(CheckWritable({.flag = "--out", .path = flags.out}));
  SPILLWAY_RETURN_IF_ERROR(
      CheckWritable({.flag = "--trace", .path = flags.trace}));
  SPILLWAY_RETURN_IF_ERROR(
      CheckWritable({.flag = "--report", .path = flags.report}));
  return CheckWritable(flags.result);
}

absl::Status WriteFiles(const TuneFlags& flags, const SourceGraph& source,
                        const TuneResult& tuned) {
  if (!flags.out.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(const std::string plan,
                              FormatSavedPlan(PlanOf(tuned), source.graph));
    SPILLWAY_RETURN_IF_ERROR(
        WriteOutput({.flag = "--out", .path = flags.out}, plan));
  }
  SPILLWAY_RETURN_IF_ERROR(WriteOutput(
      {.flag = "--trace", .path = flags.trace},
      FormatChromeTrace({{"predicted", &tuned.step.chosen.step.timeline}})));
  if (flags.report.empty()) return absl::OkStatus();
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::string page,
      FormatHtmlReport(ReportOf(tuned, HeadOf(flags.source, source))));
  return WriteOutput({.flag = "--report", .path = flags.report}, page);
}

}  // namespace

void AddTuneFlags(FlagSet& set, TuneFlags& flags) {
  AddGraphSourceFlags(set, flags.source);
  set.List("--fetch", flags.fetch,
           "with --graph: values that the step returns, as in run: name:0,...");
  AddDeviceFlags(set, flags.step);
  SharePrecision(set, flags.source.model, flags.step);
  AddLinkFlag(set, flags.step);
  AddCudaGraphFlag(set, flags.step);
  AddMemoryFlags(set, flags.step);
  AddLmsFlags(set, flags.step.lms);
  set.BeginGroup("Search");
  set.Choice("--strategy", flags.strategy,
             {.help = "best (default): the least predicted time; tflms: what "
                      "TFLMS's own search chooses, judged by our simulator",
              .choices = {"best", "tflms"}});
  AddTflmsFlags(set, flags.tflms);
  set.Real("--time_limit", flags.step.time_limit,
           {.help = "seconds after which no further candidate is tried; the "
                    "choice then depends on the machine's speed"});
  set.Bool("--find_max_batch", flags.find_max_batch,
           "search the largest batch size that can be tuned to fit, and tune "
           "that");
  set.BeginGroup("Files");
  AddProfileFlag(
      set, flags.step,
      "device profile: the machine to tune for; its memory is the budget, "
      "unless --device_memory is given");
  set.File("--out", flags.out, "save the chosen plan, for --plan");
  set.File("--trace", flags.trace,
           "write the predicted timeline as Chrome trace JSON");
  set.File("--report", flags.report,
           "write what was predicted as a page to look at (HTML, one file)");
  AddResultFlags(set, flags.result);
}

absl::Status RunTune(const TuneFlags& given) {
  TuneFlags flags = given;
  SPILLWAY_RETURN_IF_ERROR(CheckFlags(flags));
  SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile,
                            ResolveProfile(flags.step));
  SPILLWAY_ASSIGN_OR_RETURN(flags.step.device_memory,
                            TuningBudget(flags.step, profile));
  MaxBatch max_batch;
  std::string text;
  if (flags.find_max_batch) {
    SPILLWAY_ASSIGN_OR_RETURN(max_batch, SearchBatches(flags, profile));
    text = FormatTunedBatches(max_batch);
    // Where nothing fits, what one image lacks is the answer.
    flags.source.model.batch_size = std::max<int64_t>(max_batch.batch_size, 1);
  }
  SPILLWAY_ASSIGN_OR_RETURN(const SourceGraph source, LoadSource(flags));
  SPILLWAY_ASSIGN_OR_RETURN(TuneResult tuned, TuneSource(flags, source));
  AddMemoryCounters(tuned.step.chosen.plan, tuned.step.chosen.step);
  SPILLWAY_RETURN_IF_ERROR(WriteFiles(flags, source, tuned));
  const TuneReport report = {
      .flags = &flags, .result = &tuned, .batch_size = source.batch_size};
  SPILLWAY_RETURN_IF_ERROR(
      PrintText(flags.result, text + FormatTuneResult(report)));
  Json json = TuneJson(report);
  if (flags.find_max_batch) {
    json["max_batch_size"] = max_batch.batch_size;
    json["tried_batches"] = MaxBatchJson(max_batch);
  }
  return WriteJson(flags.result, json);
}

}  // namespace spillway
