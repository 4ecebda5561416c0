#include "tools/spillway/output/tune_report.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/counted.h"
#include "base/units.h"
#include "fmt/format.h"
#include "lms/recompute/clone_nodes.h"
#include "simulator/tensor_fates.h"
#include "tools/spillway/command/step_timing.h"
#include "tools/spillway/output/progress.h"
#include "tools/spillway/output/result_json.h"
#include "tools/spillway/output/swap_text.h"
#include "tuner/profile/resolve_profile.h"

namespace spillway {
namespace {

// Rows of the table of tensors; all rows are in the JSON and the HTML report.
constexpr size_t kTensorRows = 20;

double ImagesPerSecond(int64_t batch_size, int64_t step_ns) {
  return static_cast<double>(batch_size) * 1e9 / static_cast<double>(step_ns);
}

std::string FormatSpeed(int64_t batch_size, int64_t step_ns) {
  if (batch_size == 0 || step_ns == 0) return "-";
  return fmt::format("{:.1f}", ImagesPerSecond(batch_size, step_ns));
}

std::string FormatTriedHeader() {
  return fmt::format("{:<5}{:>11}{:>11}{:>12}{:>10}  {}\n", "fits", "device",
                     "host", "step ms", "images/s", "tried");
}

std::string FormatTried(const TriedSet& tried, int64_t batch_size) {
  const bool has_bytes = tried.device_bytes > 0;
  return fmt::format(
      "{:<5}{:>11}{:>11}{:>12}{:>10}  {}\n", tried.fits ? "yes" : "no",
      has_bytes ? FormatBytes(tried.device_bytes) : "-",
      has_bytes ? FormatBytes(tried.host_bytes) : "-",
      tried.step_ns == 0 ? "-"
                         : fmt::format("{:.3f}", Milliseconds(tried.step_ns)),
      FormatSpeed(batch_size, tried.step_ns), tried.name);
}

// "algorithms   direct 12, patches 3\n"; empty if no kernel has a choice.
std::string FormatAlgorithms(const AlgorithmNames& algorithms) {
  const Json counts = AlgorithmsJson(algorithms);
  std::string text;
  for (const auto& [name, count] : counts.items()) {
    text += fmt::format("{}{} {}", text.empty() ? "algorithms   " : ", ", name,
                        count.get<int64_t>());
  }
  return text.empty() ? text : text + '\n';
}

std::string FormatInterruption(const TunedStep& tuned) {
  if (!tuned.interrupted) return "";
  return fmt::format(
      "interrupted  after {}: others might have been better\n",
      Counted(tuned.tried.size(), "candidate"));
}

// ", budget 17 GiB, more than the 16 GiB of P100 16 GB, PCIe 3 x16"
std::string FormatBudget(const TuneResult& result) {
  const int64_t budget = result.options.device_memory.value_or(0);
  std::string text = fmt::format(", budget {}", FormatBytes(budget));
  if (IsNamed(result.options.profile) && budget > result.profile.memory_bytes) {
    text += fmt::format(", more than the {} of {}",
                        FormatBytes(result.profile.memory_bytes),
                        result.profile.name);
  }
  return text;
}

std::string FormatChoice(const TuneReport& report) {
  const TunedStep& tuned = report.result->step;
  const EvaluatedRecipe& chosen = tuned.chosen;
  const SwapCounts swaps = CountSwaps(chosen.plan);
  return fmt::format(
      "chosen       {}: {}\n"
      "step         {:.3f} ms, {} images/s on {}\n"
      "{}"
      "device peak  {} ({} bytes){}\n"
      "host peak    {} ({} bytes), limit {}\n"
      "swapped      {}: {} out ({}), {} in ({}) a step\n"
      "{}{}{}"
      "floor        {} at {}\n"
      "tuned in     {:.0f} ms\n"
      "{}",
      chosen.recipe.name, tuned.reason, Milliseconds(chosen.step.step_ns),
      FormatSpeed(report.batch_size, chosen.step.step_ns),
      report.result->profile.name,
      FormatBound(tuned.bound, chosen.step.step_ns),
      FormatBytes(chosen.plan.device_bytes), chosen.plan.device_bytes,
      FormatBudget(*report.result), FormatBytes(chosen.plan.host_bytes),
      chosen.plan.host_bytes, FormatBytes(HostMemoryOf(report.result->options)),
      Counted(swaps.tensors, "tensor"), swaps.swap_outs, FormatBytes(swaps.out_bytes),
      swaps.swap_ins, FormatBytes(swaps.in_bytes), FormatFedAgain(swaps),
      FormatClones(CountClones(chosen.graph)),
      FormatAlgorithms(chosen.recipe.algorithms),
      FormatBytes(report.result->floor.bytes), report.result->floor_node,
      Milliseconds(report.result->tuning_ns), FormatInterruption(tuned));
}

std::vector<TensorFate> FatesOf(const EvaluatedRecipe& chosen) {
  return FindTensorFates(chosen.plan, chosen.step, 0,
                         OriginalValues(chosen.recipe.recompute, chosen.graph));
}

std::string FormatAway(const TensorFate& fate) {
  std::string text;
  for (const Interval& away : fate.away) {
    text += fmt::format("{}{:.1f}-{:.1f}", text.empty() ? "" : ", ",
                        Milliseconds(away.begin), Milliseconds(away.end));
  }
  return text.empty() ? "never" : text;
}

std::string_view FateName(const TensorFate& fate) {
  if (fate.moves && fate.recomputed) return "mixed";
  if (fate.moves) return "swapped";
  return fate.recomputed ? "recomputed" : "kept";
}

std::string FormatTensors(const EvaluatedRecipe& chosen) {
  std::vector<TensorFate> away = FatesOf(chosen);
  std::erase_if(away, [](const TensorFate& fate) {
    return !fate.moves && !fate.recomputed;
  });
  if (away.empty()) return "";
  std::string text = fmt::format(
      "{:>11}  {:<10}{:>16}{:>9}{:>9}{:>9}{:>9}  {}\n", "bytes", "fate",
      "away (ms)", "out (ms)", "in (ms)", "again", "stall", "tensor");
  for (size_t i = 0; i < std::min(kTensorRows, away.size()); ++i) {
    const TensorFate& fate = away[i];
    text += fmt::format(
        "{:>11}  {:<10}{:>16}{:>9.2f}{:>9.2f}{:>9.2f}{:>9.2f}  {}\n",
        FormatBytes(fate.bytes), std::string(FateName(fate)), FormatAway(fate),
        Milliseconds(fate.copy_out_ns), Milliseconds(fate.copy_in_ns),
        Milliseconds(fate.recompute_ns), Milliseconds(fate.stall_ns),
        chosen.plan.buffers[fate.buffer].name);
  }
  if (away.size() > kTensorRows) {
    text += fmt::format("and {} (--json, --report)\n",
                        Counted(away.size() - kTensorRows, "smaller one"));
  }
  return text;
}

Json TriedJson(const TunedStep& tuned) {
  Json all = Json::array();
  for (const TriedSet& tried : tuned.tried) {
    Json json = {{"name", tried.name},
                 {"options", LmsJson(tried.options)},
                 {"fits", tried.fits},
                 {"peak_device_bytes", tried.device_bytes},
                 {"peak_host_bytes", tried.host_bytes},
                 {"step_ms", nullptr}};
    if (tried.step_ns > 0) json["step_ms"] = Milliseconds(tried.step_ns);
    if (!tried.fits) json["reason"] = tried.reason;
    all.push_back(std::move(json));
  }
  return all;
}

Json TensorsJson(const EvaluatedRecipe& chosen) {
  Json all = Json::array();
  for (const TensorFate& fate : FatesOf(chosen)) {
    all.push_back({{"tensor", chosen.plan.buffers[fate.buffer].name},
                   {"bytes", fate.bytes},
                   {"fate", std::string(FateName(fate))},
                   {"moves", fate.moves},
                   {"recomputed", fate.recomputed},
                   {"copy_out_ms", Milliseconds(fate.copy_out_ns)},
                   {"copy_in_ms", Milliseconds(fate.copy_in_ns)},
                   {"stall_ms", Milliseconds(fate.stall_ns)},
                   {"recompute_ms", Milliseconds(fate.recompute_ns)},
                   {"freed_byte_seconds", fate.freed_byte_seconds},
                   {"at_peak", fate.at_peak}});
  }
  return all;
}

Json ChosenJson(const TuneReport& report) {
  const EvaluatedRecipe& chosen = report.result->step.chosen;
  Json predicted = {{"step_ms", Milliseconds(chosen.step.step_ns)},
                    {"images_per_sec", nullptr},
                    {"peak_device_bytes", chosen.plan.device_bytes},
                    {"peak_host_bytes", chosen.plan.host_bytes},
                    {"swap", SwapJson(CountSwaps(chosen.plan))},
                    {"recompute", ClonesJson(CountClones(chosen.graph))}};
  if (report.batch_size > 0) {
    predicted["images_per_sec"] =
        ImagesPerSecond(report.batch_size, chosen.step.step_ns);
  }
  return {{"name", chosen.recipe.name},
          {"options", LmsJson(chosen.recipe.options)},
          {"algorithms", AlgorithmsJson(chosen.recipe.algorithms)},
          {"predicted", std::move(predicted)}};
}

}  // namespace

void TriedTable::Add(const TriedSet& tried) {
  if (num_tried_ == 0) waiting_ += FormatTriedHeader();
  ++num_tried_;
  waiting_ += FormatTried(tried, batch_size_);
  if (tried.fits && (best_ns_ == 0 || tried.step_ns < best_ns_)) {
    best_ns_ = tried.step_ns;
  }
  has_fitted_ |= tried.fits;
  if (has_fitted_) PrintRest();
}

void TriedTable::PrintRest() {
  if (waiting_.empty()) return;
  ClearProgress();
  outputs_.Print(waiting_);
  waiting_.clear();
}

std::string TriedTable::Progress() const {
  if (num_tried_ == 0) return "";
  if (!has_fitted_) return fmt::format("{} tried, none fits", num_tried_);
  return fmt::format("{} tried, best {}", num_tried_, FormatDuration(best_ns_));
}

std::string FormatTuneResult(const TuneReport& report) {
  return "\n" + FormatChoice(report) + "\n" +
         FormatTensors(report.result->step.chosen);
}

Json TuneJson(const TuneReport& report) {
  const TunedStep& tuned = report.result->step;
  const StepOptions& options = report.result->options;
  Json json = {{"necessary", tuned.is_necessary},
               {"reason", tuned.reason},
               {"interrupted", tuned.interrupted},
               {"strategy", report.flags->strategy},
               {"profile", report.result->profile.name},
               {"device_memory", nullptr},
               {"host_memory", HostMemoryOf(options)},
               {"chosen", ChosenJson(report)},
               {"tried", TriedJson(tuned)},
               {"floor",
                {{"node", report.result->floor_node},
                 {"bytes", report.result->floor.bytes}}},
               {"bound", BoundJson(tuned.bound, tuned.chosen.step.step_ns)},
               {"tensors", TensorsJson(tuned.chosen)},
               {"tune_ms", Milliseconds(report.result->tuning_ns)}};
  if (options.device_memory) json["device_memory"] = *options.device_memory;
  return json;
}

}  // namespace spillway
