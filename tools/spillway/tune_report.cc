#include "tools/spillway/tune_report.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "fmt/format.h"
#include "simulator/tensor_fates.h"
#include "tools/spillway/report/html_report.h"
#include "tools/spillway/result_json.h"
#include "tools/spillway/step_report.h"
#include "tools/spillway/step_timing.h"

namespace spillway {
namespace {

// Rows of the table of tensors; the rest is in the JSON and on the page.
constexpr size_t kTensorRows = 20;

double ImagesPerSecond(int64_t batch_size, int64_t step_ns) {
  return static_cast<double>(batch_size) * 1e9 / static_cast<double>(step_ns);
}

std::string FormatSpeed(const TuneResult& result, int64_t step_ns) {
  if (result.batch_size == 0 || step_ns == 0) return "-";
  return fmt::format("{:.1f}", ImagesPerSecond(result.batch_size, step_ns));
}

std::string FormatTried(const TuneResult& result) {
  std::string text =
      fmt::format("{:<5}{:>11}{:>11}{:>12}{:>10}  {}\n", "fits", "device",
                  "host", "step ms", "images/s", "tried");
  for (const TriedSet& tried : result.tuned->tried) {
    const bool has_bytes = tried.device_bytes > 0;
    text += fmt::format(
        "{:<5}{:>11}{:>11}{:>12}{:>10}  {}\n", tried.fits ? "yes" : "no",
        has_bytes ? FormatBytes(tried.device_bytes) : "-",
        has_bytes ? FormatBytes(tried.host_bytes) : "-",
        tried.step_ns == 0 ? "-"
                           : fmt::format("{:.3f}", Milliseconds(tried.step_ns)),
        FormatSpeed(result, tried.step_ns), tried.name);
  }
  return text;
}

// "algorithms   direct 12, patches 3\n"; empty where no kernel has a choice.
std::string FormatAlgorithms(const AlgorithmNames& algorithms) {
  const Json counts = AlgorithmsJson(algorithms);
  std::string text;
  for (const auto& [name, count] : counts.items()) {
    text += fmt::format("{}{} {}", text.empty() ? "algorithms   " : ", ", name,
                        count.get<int64_t>());
  }
  return text.empty() ? text : text + '\n';
}

std::string FormatChoice(const TuneResult& result) {
  const TunedStep& tuned = *result.tuned;
  const EvaluatedRecipe& chosen = tuned.chosen;
  const SwapCounts swaps = CountSwaps(chosen.plan);
  return fmt::format(
      "chosen       {}: {}\n"
      "step         {:.3f} ms, {} images/s on {}\n"
      "{}"
      "device peak  {} ({} bytes)\n"
      "host peak    {} ({} bytes)\n"
      "swapped      {} tensors: {} out ({}), {} in ({}) a step\n"
      "{}"
      "floor        {} at {}\n"
      "tuned in     {:.0f} ms\n",
      chosen.recipe.name, tuned.reason, Milliseconds(chosen.step.step_ns),
      FormatSpeed(result, chosen.step.step_ns), result.profile,
      FormatBound(tuned.bound, chosen.step.step_ns),
      FormatBytes(chosen.plan.device_bytes), chosen.plan.device_bytes,
      FormatBytes(chosen.plan.host_bytes), chosen.plan.host_bytes,
      swaps.tensors, swaps.swap_outs, FormatBytes(swaps.out_bytes),
      swaps.swap_ins, FormatBytes(swaps.in_bytes),
      FormatAlgorithms(chosen.recipe.algorithms),
      FormatBytes(result.floor.bytes), result.floor_node, result.tune_ms);
}

std::string FormatAway(const TensorFate& fate) {
  std::string text;
  for (const Interval& away : fate.away) {
    text += fmt::format("{}{:.1f}-{:.1f}", text.empty() ? "" : ", ",
                        Milliseconds(away.begin), Milliseconds(away.end));
  }
  return text.empty() ? "never" : text;
}

std::string FormatTensors(const EvaluatedRecipe& chosen) {
  std::vector<TensorFate> moved = FindTensorFates(chosen.plan, chosen.step);
  std::erase_if(moved, [](const TensorFate& fate) { return !fate.moves; });
  if (moved.empty()) return "";
  std::string text =
      fmt::format("{:>11}{:>20}{:>11}{:>11}{:>10}  {}\n", "bytes", "away (ms)",
                  "out (ms)", "in (ms)", "stall", "tensor that moves");
  for (size_t i = 0; i < std::min(kTensorRows, moved.size()); ++i) {
    const TensorFate& fate = moved[i];
    text += fmt::format(
        "{:>11}{:>20}{:>11.3f}{:>11.3f}{:>10.3f}  {}\n",
        FormatBytes(fate.bytes), FormatAway(fate),
        Milliseconds(fate.copy_out_ns), Milliseconds(fate.copy_in_ns),
        Milliseconds(fate.stall_ns), chosen.plan.buffers[fate.buffer].name);
  }
  if (moved.size() > kTensorRows) {
    text += fmt::format("and {} smaller ones (--json, --report)\n",
                        moved.size() - kTensorRows);
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
  for (const TensorFate& fate : FindTensorFates(chosen.plan, chosen.step)) {
    all.push_back({{"tensor", chosen.plan.buffers[fate.buffer].name},
                   {"bytes", fate.bytes},
                   {"moves", fate.moves},
                   {"copy_out_ms", Milliseconds(fate.copy_out_ns)},
                   {"copy_in_ms", Milliseconds(fate.copy_in_ns)},
                   {"stall_ms", Milliseconds(fate.stall_ns)},
                   {"freed_byte_seconds", fate.freed_byte_seconds},
                   {"at_peak", fate.at_peak}});
  }
  return all;
}

Json ChosenJson(const TuneResult& result) {
  const EvaluatedRecipe& chosen = result.tuned->chosen;
  Json predicted = {{"step_ms", Milliseconds(chosen.step.step_ns)},
                    {"images_per_sec", nullptr},
                    {"peak_device_bytes", chosen.plan.device_bytes},
                    {"peak_host_bytes", chosen.plan.host_bytes},
                    {"swap", SwapJson(CountSwaps(chosen.plan))}};
  if (result.batch_size > 0) {
    predicted["images_per_sec"] =
        ImagesPerSecond(result.batch_size, chosen.step.step_ns);
  }
  return {{"name", chosen.recipe.name},
          {"options", LmsJson(chosen.recipe.options)},
          {"algorithms", AlgorithmsJson(chosen.recipe.algorithms)},
          {"predicted", std::move(predicted)}};
}

}  // namespace

std::string FormatTuneResult(const TuneResult& result) {
  return FormatTried(result) + "\n" + FormatChoice(result) + "\n" +
         FormatTensors(result.tuned->chosen);
}

Json TuneJson(const TuneResult& result) {
  const TunedStep& tuned = *result.tuned;
  const MemoryFlags& memory = result.flags->memory;
  Json json = {
      {"necessary", tuned.is_necessary},
      {"reason", tuned.reason},
      {"strategy", result.flags->strategy},
      {"profile", result.profile},
      {"device_memory", nullptr},
      {"host_memory", HostMemory(memory)},
      {"chosen", ChosenJson(result)},
      {"tried", TriedJson(tuned)},
      {"floor", {{"node", result.floor_node}, {"bytes", result.floor.bytes}}},
      {"bound", BoundJson(tuned.bound, tuned.chosen.step.step_ns)},
      {"tensors", TensorsJson(tuned.chosen)},
      {"tune_ms", result.tune_ms}};
  if (memory.device_memory) json["device_memory"] = *memory.device_memory;
  return json;
}

std::string FormatTuneReport(const TuneResult& result) {
  const TunedStep& tuned = *result.tuned;
  const EvaluatedRecipe& chosen = tuned.chosen;
  HtmlReport report =
      MakeStepReport({.batch_size = result.batch_size,
                      .precision = result.flags->source.model.precision,
                      .profile = result.profile,
                      .lms = &result.flags->lms,
                      .memory = &result.flags->memory,
                      .graph = &chosen.graph,
                      .plan = &chosen.plan,
                      .predicted = &chosen.step});
  report.facts.push_back({"Chosen", chosen.recipe.name + ": " + tuned.reason});
  report.bound = {.step_ns = tuned.bound.step_ns,
                  .reason = BoundReason(tuned.bound)};
  for (const TriedSet& tried : tuned.tried) {
    report.tried.push_back({.label = tried.name,
                            .fits = tried.fits,
                            .device_bytes = tried.device_bytes,
                            .host_bytes = tried.host_bytes,
                            .note = tried.reason});
    if (tried.step_ns > 0) report.tried.back().step_ns = tried.step_ns;
    if (tried.fits && tried.name == chosen.recipe.name) {
      report.chosen = report.tried.size() - 1;
    }
  }
  return FormatHtmlReport(report);
}

}  // namespace spillway
