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
  return fmt::format("interrupted  after {}: others might have been better\n",
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

// The bounds of plans that only swap and of those that only recompute.
std::string FormatClassBounds(const TunedStep& tuned) {
  const ClassBounds& bounds = tuned.class_bounds;
  if (!bounds.swap_only_ns && !bounds.recompute_only_ns) return "";
  const auto format = [](const std::optional<int64_t>& ns) -> std::string {
    return ns ? fmt::format("{:.3f} ms", Milliseconds(*ns)) : "nothing fits";
  };
  return fmt::format("             swaps alone: {}; recomputation alone: {}\n",
                     format(bounds.swap_only_ns),
                     format(bounds.recompute_only_ns));
}

std::string FormatChoice(const TuneReport& report) {
  const TunedStep& tuned = report.result->step;
  const EvaluatedRecipe& chosen = tuned.chosen;
  const SwapCounts swaps = CountSwaps(chosen.plan);
  return fmt::format(
      "chosen       {}: {}\n"
      "step         {:.3f} ms, {} images/s on {}\n"
      "{}{}"
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
      FormatBound(tuned.bound, chosen.step.step_ns), FormatClassBounds(tuned),
      FormatBytes(chosen.plan.device_bytes), chosen.plan.device_bytes,
      FormatBudget(*report.result), FormatBytes(chosen.plan.host_bytes),
      chosen.plan.host_bytes, FormatBytes(HostMemoryOf(report.result->options)),
      Counted(swaps.tensors, "tensor"), swaps.swap_outs,
      FormatBytes(swaps.out_bytes), swaps.swap_ins, FormatBytes(swaps.in_bytes),
      FormatFedAgain(swaps), FormatClones(CountClones(chosen.graph)),
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

std::vector<TensorFate> FatesOfAbsent(const EvaluatedRecipe& chosen) {
  std::vector<TensorFate> away = FatesOf(chosen);
  std::erase_if(away, [](const TensorFate& fate) {
    return !fate.moves && !fate.recomputed;
  });
  return away;
}

const TensorPrice* PriceOf(const std::string& tensor,
                           const std::vector<TensorPrice>& prices) {
  const auto found = std::ranges::find(prices, tensor, &TensorPrice::tensor);
  return found == prices.end() ? nullptr : &*found;
}

// "+12.70", "now", or "-" if it cannot have the fate or nothing fits then.
std::string FormatChange(const TensorPrice* price, Fate fate) {
  if (price == nullptr) return "";
  if (price->fate == fate) return "now";
  const std::optional<int64_t>& change =
      price->change_ns[static_cast<size_t>(fate)];
  return change ? fmt::format("{:+.2f}", Milliseconds(*change)) : "-";
}

std::string FormatTensors(const TuneReport& report) {
  const EvaluatedRecipe& chosen = report.result->step.chosen;
  const std::vector<TensorFate> away = FatesOfAbsent(chosen);
  if (away.empty()) return "";
  std::string text = fmt::format(
      "{:>9}  {:<10}{:>16}{:>9}{:>9}{:>9}{:>9}  {}\n", "bytes", "fate",
      "away (ms)", "costs", "kept", "swapped", "again", "tensor");
  for (size_t i = 0; i < std::min(kTensorRows, away.size()); ++i) {
    const TensorFate& fate = away[i];
    const std::string& tensor = chosen.plan.buffers[fate.buffer].name;
    const TensorPrice* price = PriceOf(tensor, report.prices);
    text += fmt::format(
        "{:>9}  {:<10}{:>16}{:>9.2f}{:>9}{:>9}{:>9}  {}\n",
        FormatBytes(fate.bytes), std::string(FateName(fate)), FormatAway(fate),
        Milliseconds(fate.stall_ns + fate.recompute_ns),
        FormatChange(price, Fate::kKept), FormatChange(price, Fate::kSwapped),
        FormatChange(price, Fate::kRecomputed), tensor);
  }
  if (away.size() > kTensorRows) {
    text += fmt::format("and {} (--json, --report)\n",
                        Counted(away.size() - kTensorRows, "smaller one"));
  }
  return text;
}

std::string FormatExplained(const std::vector<TensorPrice>& explained) {
  std::string text;
  for (const TensorPrice& price : explained) {
    const auto change = [&](Fate fate) { return FormatChange(&price, fate); };
    text += fmt::format(
        "\ntensor       {}, {}\n"
        "the step     kept {}, swapped {}, recomputed {} (ms)\n",
        price.tensor, FormatBytes(price.bytes), change(Fate::kKept),
        change(Fate::kSwapped), change(Fate::kRecomputed));
    for (const TensorGap& gap : price.gaps) {
      text += fmt::format(
          "{:<13}for {:.1f} ms\n"
          "  between    {}\n"
          "  and        {}\n"
          "  fullest    {} free, at {}\n"
          "  link busy  {:.0f} % to the host, {:.0f} % to the device; kernels "
          "wait {:.2f} ms for this tensor\n",
          std::string(FateName(gap.fate)), Milliseconds(gap.length_ns),
          gap.from, gap.to, FormatBytes(std::max<int64_t>(gap.free_bytes, 0)),
          gap.fullest, 100 * gap.busy_out, 100 * gap.busy_in,
          Milliseconds(gap.stall_ns));
    }
  }
  return text;
}

Json PriceJson(const TensorPrice* price) {
  if (price == nullptr) return nullptr;
  Json json = Json::object();
  for (const Fate fate : {Fate::kKept, Fate::kSwapped, Fate::kRecomputed}) {
    const std::optional<int64_t>& change =
        price->change_ns[static_cast<size_t>(fate)];
    Json& of_fate = json[std::string(FateName(fate))];
    of_fate = nullptr;
    if (change) of_fate = Milliseconds(*change);
  }
  return json;
}

Json ExplainedJson(const std::vector<TensorPrice>& explained) {
  Json all = Json::array();
  for (const TensorPrice& price : explained) {
    Json gaps = Json::array();
    for (const TensorGap& gap : price.gaps) {
      gaps.push_back({{"fate", std::string(FateName(gap.fate))},
                      {"from", gap.from},
                      {"to", gap.to},
                      {"ms", Milliseconds(gap.length_ns)},
                      {"fullest_node", gap.fullest},
                      {"free_bytes", gap.free_bytes},
                      {"busy_out", gap.busy_out},
                      {"busy_in", gap.busy_in},
                      {"stall_ms", Milliseconds(gap.stall_ns)}});
    }
    all.push_back({{"tensor", price.tensor},
                   {"bytes", price.bytes},
                   {"price_ms", PriceJson(&price)},
                   {"gaps", std::move(gaps)}});
  }
  return all;
}

// With the bounds of the classes; null: no plan of the class fits, or they are
// not known.
Json BoundsJson(const TunedStep& tuned) {
  Json json = BoundJson(tuned.bound, tuned.chosen.step.step_ns);
  json["swap_only_ms"] = nullptr;
  json["recompute_only_ms"] = nullptr;
  const ClassBounds& bounds = tuned.class_bounds;
  if (bounds.swap_only_ns) {
    json["swap_only_ms"] = Milliseconds(*bounds.swap_only_ns);
  }
  if (bounds.recompute_only_ns) {
    json["recompute_only_ms"] = Milliseconds(*bounds.recompute_only_ns);
  }
  return json;
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

Json TensorsJson(const TuneReport& report) {
  const EvaluatedRecipe& chosen = report.result->step.chosen;
  Json all = Json::array();
  for (const TensorFate& fate : FatesOf(chosen)) {
    const std::string& tensor = chosen.plan.buffers[fate.buffer].name;
    all.push_back({{"tensor", tensor},
                   {"bytes", fate.bytes},
                   {"fate", std::string(FateName(fate))},
                   {"moves", fate.moves},
                   {"recomputed", fate.recomputed},
                   {"copy_out_ms", Milliseconds(fate.copy_out_ns)},
                   {"copy_in_ms", Milliseconds(fate.copy_in_ns)},
                   {"stall_ms", Milliseconds(fate.stall_ns)},
                   {"recompute_ms", Milliseconds(fate.recompute_ns)},
                   {"freed_byte_seconds", fate.freed_byte_seconds},
                   {"at_peak", fate.at_peak},
                   {"price_ms", PriceJson(PriceOf(tensor, report.prices))}});
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
  return "\n" + FormatChoice(report) + "\n" + FormatTensors(report) +
         FormatExplained(report.explained);
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
               {"bound", BoundsJson(tuned)},
               {"tensors", TensorsJson(report)},
               {"tune_ms", Milliseconds(report.result->tuning_ns)}};
  if (options.device_memory) json["device_memory"] = *options.device_memory;
  if (!report.explained.empty()) {
    json["explained"] = ExplainedJson(report.explained);
  }
  return json;
}

std::vector<std::string> TensorsOfTable(const EvaluatedRecipe& chosen) {
  std::vector<std::string> names;
  for (const TensorFate& fate : FatesOfAbsent(chosen)) {
    if (names.size() == kTensorRows) break;
    names.push_back(chosen.plan.buffers[fate.buffer].name);
  }
  return names;
}

std::string FormatFrontier(const Frontier& frontier) {
  if (frontier.points.empty()) return "";
  std::string text =
      fmt::format("\n{:>12}{:>10}{:>12}{:>8}{:>12}  {}\n", "budget", "part",
                  "step ms", "kept", "bound ms", "plan");
  const FrontierPoint& first = frontier.points.front();
  const auto percent = [](int64_t part, int64_t whole) {
    return fmt::format("{:.1f} %", 100 * static_cast<double>(part) /
                                       static_cast<double>(whole));
  };
  for (const FrontierPoint& point : frontier.points) {
    text += fmt::format("{:>12}{:>10}{:>12.3f}{:>8}{:>12.3f}  {}\n",
                        FormatBytes(point.device_memory),
                        percent(point.device_memory, first.device_memory),
                        Milliseconds(point.step_ns),
                        percent(first.step_ns, point.step_ns),
                        Milliseconds(point.bound_ns), point.name);
  }
  return text;
}

Json FrontierJson(const Frontier& frontier) {
  Json all = Json::array();
  for (const FrontierPoint& point : frontier.points) {
    all.push_back({{"device_memory", point.device_memory},
                   {"step_ms", Milliseconds(point.step_ns)},
                   {"bound_ms", Milliseconds(point.bound_ns)},
                   {"peak_device_bytes", point.device_bytes},
                   {"peak_host_bytes", point.host_bytes},
                   {"name", point.name}});
  }
  return all;
}

}  // namespace spillway
