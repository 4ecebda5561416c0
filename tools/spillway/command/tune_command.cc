#include "tools/spillway/command/tune_command.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "executor/plan/explain_timeline.h"
#include "fmt/format.h"
#include "simulator/memory_over_time.h"
#include "tools/spillway/command/remedy_command.h"
#include "tools/spillway/flags/lms_flags.h"
#include "tools/spillway/interrupt.h"
#include "tools/spillway/output/host_nodes_text.h"
#include "tools/spillway/output/policy_table.h"
#include "tools/spillway/output/progress.h"
#include "tools/spillway/output/scaling_table.h"
#include "tools/spillway/output/tune_report.h"
#include "tuner/max_batch.h"
#include "tuner/policies/policies.h"
#include "tuner/profile/resolve_profile.h"
#include "tuner/tune.h"
#include "tuner/tune_buckets.h"
#include "tuner/tune_policy.h"

namespace spillway {
namespace {

SearchEffort ParseEffort(const std::string& name, const std::string& text) {
  if (text == "normal") return SearchEffort::kNormal;
  if (text == "high") return SearchEffort::kHigh;
  RefuseFlag(name, fmt::format("\"{}\" is not one of normal, high", text));
}

std::vector<std::string> Strategies() {
  std::vector<std::string> names = {"best"};
  names.insert(names.end(), PolicyNames().begin(), PolicyNames().end());
  return names;
}

absl::StatusOr<SourceGraph> LoadSource(const TuneFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(SourceGraph source,
                            LoadGraph(flags.source, flags.step));
  if (flags.fetch.empty()) return source;
  SPILLWAY_ASSIGN_OR_RETURN(source.fetches,
                            FindFetches(flags.fetch, source.graph));
  return source;
}

// The strategy of TFLMS takes its limits from the budget.
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
  if (flags.strategy != "best") {
    return TuneAsPolicy(ProgramOf(source), flags.step, flags.strategy);
  }
  StepOptions options = flags.step;
  options.log = nullptr;  // the result has the same information
  return Tune(ProgramOf(source), options);
}

// Whether the sizes of buckets are chosen, too.
bool ChoosesBuckets(const TuneFlags& flags) {
  return flags.source.ranks > 1 && flags.source.model.is_given() &&
         !flags.source.exchange.has_buckets && flags.strategy == "best";
}

// Sets the buckets in `flags`, and the graph with them in `source`.
absl::StatusOr<TunedBuckets> TuneBucketSizes(TuneFlags& flags,
                                             SourceGraph& source) {
  const BucketSpec given = flags.source.exchange.buckets;
  const auto set_bytes = [&](int64_t bytes) {
    flags.source.exchange.buckets = given;
    flags.source.exchange.buckets.bytes = bytes;
  };
  const auto program_of = [&](int64_t bytes) -> absl::StatusOr<Program> {
    set_bytes(bytes);
    SPILLWAY_ASSIGN_OR_RETURN(const SourceGraph loaded, LoadSource(flags));
    return ProgramOf(loaded);
  };
  StepOptions options = flags.step;
  options.log = nullptr;
  SPILLWAY_ASSIGN_OR_RETURN(TunedBuckets tuned,
                            TuneBuckets(program_of, BucketSizes(), options));
  set_bytes(tuned.bucket_bytes);
  SPILLWAY_ASSIGN_OR_RETURN(source, LoadSource(flags));
  return tuned;
}

// With their sizes, if those are to be chosen: then sets all three.
absl::StatusOr<TuneResult> TuneAll(TuneFlags& flags, SourceGraph& source,
                                   TunedBuckets& buckets) {
  if (!ChoosesBuckets(flags)) return TuneSource(flags, source);
  SPILLWAY_ASSIGN_OR_RETURN(buckets, TuneBucketSizes(flags, source));
  return std::move(buckets.tuned);
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
                             .profile = &profile,
                             .finds_smallest_budget = false};
    return AttemptOf(batch_size,
                     flags.strategy == "tflms"
                         ? TuneStepAsTflms(spec, RequestOf(flags, source))
                         : TuneStep(spec));
  };
  return SearchMaxBatch({.start = start, .stop = flags.step.stop}, attempt);
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

// Whether tuner/policies has the strategy. TFLMS's own search is run by
// TuneAsTflms instead, which takes its limits and logs what it tries.
bool IsPolicy(const std::string& strategy) {
  return strategy != "best" && strategy != "tflms";
}

absl::Status CheckFlags(const TuneFlags& flags) {
  if (flags.step.lms.mode == LmsMode::kOff) {
    return InvalidArgument("--lms: tune needs auto, v1 or v2");
  }
  if (!flags.fetch.empty() && flags.source.graph.empty()) {
    return InvalidArgument(
        "--fetch: needs --graph; a model's step returns loss and accuracy");
  }
  if (flags.strategy != "best" &&
      (!flags.explain.empty() || !flags.frontier.empty())) {
    return InvalidArgument(
        fmt::format("{}: needs --strategy best",
                    flags.explain.empty() ? "--frontier" : "--explain"));
  }
  if (!flags.explain.empty() && flags.step.lms.mode != LmsMode::kAuto) {
    return InvalidArgument("--explain: needs --lms auto");
  }
  if (flags.explain_remedy &&
      (flags.compare || flags.find_max_batch || !flags.explain.empty() ||
       !flags.frontier.empty() || !flags.out.empty() || !flags.trace.empty() ||
       !flags.report.empty())) {
    return InvalidArgument(
        "--explain_remedy: chooses no plan, so --compare, --explain, "
        "--find_max_batch, --frontier, --out, --report and --trace have "
        "nothing "
        "to do");
  }
  if (flags.find_max_batch && IsPolicy(flags.strategy)) {
    return InvalidArgument("--find_max_batch: needs --strategy best or tflms");
  }
  if (flags.step.device_memory == int64_t{0}) {
    return InvalidArgument("--device_memory: a budget of 0 bytes fits nothing");
  }
  return absl::OkStatus();
}

void WriteFiles(const TuneFlags& flags, const SourceGraph& source,
                const TuneResult& tuned, const ReportExtras& extras,
                Outputs& outputs) {
  outputs.Write("--out", [&] {
    SavedPlan plan = PlanOf(tuned);
    if (flags.source.ranks > 1 && source.model) {
      const BucketSpec& buckets = flags.source.exchange.buckets;
      plan.buckets = {.bytes = buckets.bytes,
                      .first_bytes = buckets.first_bytes,
                      .elements = buckets.elements};
    }
    return FormatSavedPlan(plan, source.graph);
  });
  outputs.Write("--trace", [&] {
    return FormatChromeTrace({{"predicted", &tuned.step.chosen.step.timeline}});
  });
  outputs.Write("--report", [&] {
    return FormatHtmlReport(
        ReportOf(tuned, HeadOf(flags.source, source), extras));
  });
}

TuningSpec SpecOf(const TuneFlags& flags, const SourceGraph& source,
                  const DeviceProfile& profile) {
  return {.graph = &source.graph,
          .fetches = source.fetches,
          .options = &flags.step,
          .profile = &profile};
}

// A policy that makes no plan has only a time and its moved bytes.
absl::Status FinishPlayed(const TuneFlags& flags, const SourceGraph& source,
                          const DeviceProfile& profile, Outputs& outputs) {
  if (!flags.out.empty() || !flags.trace.empty() || !flags.report.empty()) {
    return InvalidArgument(
        fmt::format("--strategy: {} makes no plan, so --out, --trace and "
                    "--report have nothing to write",
                    flags.strategy));
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      const EvaluatedPolicy policy,
      TuneStepAsPolicy(SpecOf(flags, source, profile), flags.strategy));
  ClearProgress();
  if (!policy.result.fits) {
    return ResourceExhausted(fmt::format("the policy {} does not fit: {}",
                                         flags.strategy, policy.result.reason));
  }
  outputs.Print(FormatPolicies({policy.result}, source.batch_size));
  outputs.WriteJson({{"strategy", flags.strategy},
                     {"profile", profile.name},
                     {"device_memory", *flags.step.device_memory},
                     {"chosen", nullptr},
                     {"policies", PoliciesJson({policy.result})}});
  return outputs.Finish();
}

// Shows the elapsed time and the text of `describe` each time the tuner calls.
StopRequest WithProgress(StopRequest stop,
                         std::function<std::string()> describe) {
  using Clock = std::chrono::steady_clock;
  return [stop = std::move(stop), describe = std::move(describe),
          start = Clock::now()] {
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    const std::string more = describe();
    ShowProgress(fmt::format("tuning: {}{}{}", FormatSeconds(elapsed.count()),
                             more.empty() ? "" : ", ", more));
    return stop();
  };
}

// Writes the output of a search that chose nothing.
absl::Status FinishWithoutChoice(const std::string& text, Json json,
                                 Outputs& outputs) {
  outputs.Print(text);
  json["interrupted"] = true;
  json["chosen"] = nullptr;
  outputs.WriteJson(json);
  return outputs.Finish(InterruptedStatus(
      "before a plan was chosen; --out, --trace and --report are not written"));
}

// The prices of the tensors in the table, and of those to explain.
absl::Status AddPrices(const TuneFlags& flags, const TuningSpec& spec,
                       TuneReport& report) {
  if (flags.strategy != "best") return absl::OkStatus();
  const EvaluatedRecipe& chosen = report.result->step.chosen;
  SPILLWAY_ASSIGN_OR_RETURN(
      report.prices,
      PriceTensors(spec, chosen,
                   {.tensors = TensorsOfTable(chosen), .must_exist = false}));
  if (flags.explain.empty()) return absl::OkStatus();
  if (chosen.recipe.fates == nullptr) {
    return InvalidArgument(fmt::format(
        "--explain: \"{}\" chooses no fates of tensors", chosen.recipe.name));
  }
  absl::StatusOr<std::vector<TensorPrice>> explained =
      PriceTensors(spec, chosen, {.tensors = flags.explain});
  if (!explained.ok()) return Annotate(explained.status(), "--explain");
  report.explained = *std::move(explained);
  return absl::OkStatus();
}

// A choice to report. Borrows what it refers to.
struct TunedSource {
  const TuneFlags& flags;
  const SourceGraph& source;
  const Json& batches;  // of --find_max_batch
  TuneResult tuned = {};
  const TunedBuckets* buckets = nullptr;  // null: their sizes were given
};

// The table of --workers, and that of the buckets.
absl::Status AddWorkers(const TunedSource& choice, Outputs& outputs,
                        Json& json) {
  const EvaluatedRecipe& chosen = choice.tuned.step.chosen;
  std::string text;
  if (choice.buckets != nullptr) {
    text += FormatBucketSizes(*choice.buckets);
    json["buckets"] = BucketSizesJson(*choice.buckets);
  }
  SPILLWAY_RETURN_IF_ERROR(AddScaling({.graph = &chosen.graph,
                                       .plan = &chosen.plan,
                                       .algorithms = chosen.recipe.algorithms,
                                       .profile = &choice.tuned.profile,
                                       .ranks = choice.flags.network.workers,
                                       .ops = choice.tuned.options.ops},
                                      choice.source.batch_size, text, json));
  outputs.Print(text);
  return absl::OkStatus();
}

absl::Status FinishTuned(TunedSource choice, Outputs& outputs) {
  const TuneFlags& flags = choice.flags;
  TuneResult& tuned = choice.tuned;
  EvaluatedRecipe& chosen = tuned.step.chosen;
  AddMemoryCounters(chosen.plan, chosen.step);
  ExplainTimeline(chosen.plan, chosen.graph, chosen.step.timeline);
  TuneReport report = {.flags = &flags,
                       .result = &tuned,
                       .batch_size = choice.source.batch_size};
  const TuningSpec spec = SpecOf(flags, choice.source, tuned.profile);
  SPILLWAY_RETURN_IF_ERROR(AddPrices(flags, spec, report));
  outputs.Print(FormatTuneResult(report) +
                FormatHostNodes(choice.source.placement));
  Json json = TuneJson(report);
  AddHostNodesJson(choice.source.placement, json);
  json.update(choice.batches);
  if (!flags.network.workers.empty()) {
    SPILLWAY_RETURN_IF_ERROR(AddWorkers(choice, outputs, json));
  }
  std::vector<PolicyResult> policies;
  if (flags.compare) {
    SPILLWAY_ASSIGN_OR_RETURN(policies, ComparePoliciesOf(spec));
    outputs.Print("\n" + FormatPolicies(policies, report.batch_size));
    json["policies"] = PoliciesJson(policies);
  }
  Frontier frontier;
  if (!flags.frontier.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(frontier, TuneFrontierOf(spec));
    ClearProgress();
    outputs.Print(FormatFrontier(frontier));
    outputs.Write("--frontier", [&] { return FormatFrontierCsv(frontier); });
    json["frontier"] = FrontierJson(frontier);
  }
  outputs.WriteJson(json);
  WriteFiles(flags, choice.source, tuned,
             {.frontier = flags.frontier.empty() ? nullptr : &frontier,
              .prices = report.prices,
              .policies = policies},
             outputs);
  if (!tuned.step.interrupted) return outputs.Finish();
  return outputs.Finish(InterruptedStatus(
      fmt::format("after {}; the best so far is chosen",
                  Counted(tuned.step.tried.size(), "candidate"))));
}

}  // namespace

void AddTuneFlags(FlagSet& set, TuneFlags& flags) {
  AddGraphSourceFlags(set, flags.source);
  AddPlanOnlyFlag(set, flags.source.model.onnx);
  set.List("--fetch", flags.fetch,
           "with --graph: values that the step returns, as in run: name:0,...");
  AddDeviceFlags(set, flags.step);
  SharePrecision(set, flags.source.model, flags.step);
  AddLinkFlag(set, flags.step);
  AddCudaGraphFlag(set, flags.step);
  AddMemoryFlags(set, flags.step,
                 {.owner = MemoryOwner::kProfile, .decider = Decider::kTuner});
  AddPlaceFlag(set, flags.source.place);
  AddLmsFlags(set, flags.step.lms, Decider::kTuner);
  set.BeginGroup("Search");
  set.Choice("--strategy", flags.strategy,
             {.help = "best (default): the least predicted time; or a classic "
                      "policy, for comparison, such as tflms: what TFLMS's own "
                      "search chooses",
              .choices = Strategies()})
      ->type_name("best|POLICY");
  set.Bool("--compare", flags.compare,
           "also evaluate every classic policy in the same memory");
  set.Add("--effort", flags.step.effort, ParseEffort)
      ->type_name("normal|high")
      ->description(
          "how long to search: normal (default); high: eight times as long, "
          "and until the bound is reached");
  set.List("--explain", flags.explain,
           "tensors to explain: what another fate would cost, and what limits "
           "it, such as conv1/Conv2D:0");
  set.Bool("--explain_remedy", flags.explain_remedy,
           "instead: what helps if the model is too large, and what it costs: "
           "swapping, recomputing, both, or smaller batches whose gradients "
           "are added up");
  AddTflmsFlags(set, flags.tflms);
  set.Real("--time_limit", flags.step.time_limit,
           {.help = "seconds after which no further candidate is tried; the "
                    "choice then depends on the machine's speed"});
  set.Bool("--find_max_batch", flags.find_max_batch,
           "search the largest batch size that can be tuned to fit, and tune "
           "that");
  AddNetworkFlags(set, flags.network, flags.step, flags.source);
  set.BeginGroup("Files");
  AddProfileFlag(
      set, flags.step,
      "device profile: the machine to tune for; its memory is the budget, "
      "unless --device_memory is given");
  set.File("--out", flags.out, "save the chosen plan, for --plan");
  set.File("--frontier", flags.frontier,
           "tune for smaller and smaller budgets too, and write the least time "
           "in each as CSV");
  set.File("--trace", flags.trace,
           "write the predicted timeline as Chrome trace JSON");
  set.File("--report", flags.report,
           "write the prediction as an HTML page (one file)");
  AddResultFlags(set, flags.result);
}

absl::Status RunTune(const TuneFlags& given) {
  TuneFlags flags = given;
  SPILLWAY_RETURN_IF_ERROR(CheckFlags(flags));
  Outputs outputs(flags.result, {{"--out", flags.out},
                                 {"--frontier", flags.frontier},
                                 {"--trace", flags.trace},
                                 {"--report", flags.report}});
  SPILLWAY_RETURN_IF_ERROR(outputs.Check());
  SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile,
                            ResolveProfile(flags.step));
  flags.step.warns_of_profile = false;
  SPILLWAY_ASSIGN_OR_RETURN(flags.step.device_memory,
                            TuningBudget(flags.step, profile));
  const Interrupts interrupts("candidate");
  flags.step.stop = WithProgress(interrupts.stop(), [] { return ""; });
  if (flags.explain_remedy) {
    return RunExplainRemedy(flags.source, flags.step, outputs);
  }
  Json batches = Json::object();
  std::string text;
  if (flags.find_max_batch) {
    SPILLWAY_ASSIGN_OR_RETURN(const MaxBatch max_batch,
                              SearchBatches(flags, profile));
    text = FormatTunedBatches(max_batch);
    batches["max_batch_size"] = max_batch.batch_size;
    batches["tried_batches"] = MaxBatchJson(max_batch);
    ClearProgress();
    if (max_batch.interrupted) {
      return FinishWithoutChoice(text, std::move(batches), outputs);
    }
    // If no batch fits, the answer is the shortage of one image.
    flags.source.model.batch_size = std::max<int64_t>(max_batch.batch_size, 1);
  }
  SPILLWAY_ASSIGN_OR_RETURN(SourceGraph source, LoadSource(flags));
  for (const std::string& tensor : flags.explain) {
    const absl::Status found = source.graph.FindValue(tensor).status();
    if (!found.ok()) return Annotate(found, "--explain");
  }
  if (IsPolicy(flags.strategy) && !MakesPlan(flags.strategy)) {
    return FinishPlayed(flags, source, profile, outputs);
  }
  TriedTable table(text, source.batch_size, outputs);
  flags.step.on_tried = [&](const TriedSet& tried) { table.Add(tried); };
  flags.step.stop =
      WithProgress(interrupts.stop(), [&] { return table.Progress(); });
  TunedBuckets buckets;
  absl::StatusOr<TuneResult> tuned = TuneAll(flags, source, buckets);
  ClearProgress();
  if (absl::IsCancelled(tuned.status())) {
    return FinishWithoutChoice(text, std::move(batches), outputs);
  }
  SPILLWAY_RETURN_IF_ERROR(tuned.status());
  table.PrintRest();
  return FinishTuned({.flags = flags,
                      .source = source,
                      .batches = batches,
                      .tuned = *std::move(tuned),
                      .buckets = buckets.tried.empty() ? nullptr : &buckets},
                     outputs);
}

}  // namespace spillway
