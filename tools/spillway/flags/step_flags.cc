#include "tools/spillway/flags/step_flags.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "comm/ranks.h"
#include "executor/device/device.h"
#include "executor/plan/memory_shortage.h"
#include "fmt/format.h"
#include "tuner/profile/resolve_profile.h"
#include "tuner/tune.h"

namespace spillway {
namespace {

AlgorithmChoice ParseAlgorithms(const std::string& name,
                                const std::string& text) {
  if (text == "same") return AlgorithmChoice::kSame;
  if (text == "first") return AlgorithmChoice::kFirst;
  if (text == "auto") return AlgorithmChoice::kAuto;
  RefuseFlag(name, fmt::format("\"{}\" is not one of same, first, auto", text));
}

PlaceMode ParsePlace(const std::string& name, const std::string& text) {
  for (const PlaceMode mode :
       {PlaceMode::kOff, PlaceMode::kAuto, PlaceMode::kUpdates,
        PlaceMode::kEstimate, PlaceMode::kForce}) {
    if (text == PlaceModeName(mode)) return mode;
  }
  RefuseFlag(name,
             fmt::format("\"{}\" is not one of off, auto, updates, estimate, "
                         "force",
                         text));
}

ScheduleKind ParseSchedule(const std::string& name, const std::string& text) {
  if (text == "auto") return ScheduleKind::kAuto;
  if (text == "memory") return ScheduleKind::kMemory;
  if (text == "creation") return ScheduleKind::kCreation;
  RefuseFlag(name,
             fmt::format("\"{}\" is not one of auto, memory, creation", text));
}

// Terms of the library and the flags with the same meaning; flags with the same
// name come first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 31> kTerms =
    {{{"batch_size", "--batch_size"},
      {"check_memory", "--check_memory"},
      {"device", "--device"},
      {"device_memory", "--device_memory"},
      {"host_memory", "--host_memory"},
      {"image_size", "--image_size"},
      {"intra_host_gbps", "--intra_host_gbps"},
      {"intra_host_latency_us", "--intra_host_latency_us"},
      {"link_gbps", "--link_gbps"},
      {"loss_scale", "--loss_scale"},
      {"network_gbps", "--network_gbps"},
      {"network_latency_us", "--network_latency_us"},
      {"place", "--place"},
      {"plan", "--plan"},
      {"precision", "--precision"},
      {"profile", "--profile"},
      {"ranks_per_host", "--ranks_per_host"},
      {"schedule", "--schedule"},
      {"threads", "--threads"},
      {"time_limit", "--time_limit"},
      {"weight_decay", "--weight_decay"},
      {"workers", "--workers"},
      {"allreduce", "--allreduce"},
      {"capture_steps", "--cuda_graph"},
      {"lms", "--lms"},
      {"run_folder", "--run_dir"},
      {"log_folder", "--log_dir"},
      {"the device cpu", "--device cpu"},
      {"AlgorithmChoice::kAuto", "--algorithms auto"},
      {kPlaceAdvice, "--place auto"},
      {"FindMaxBatch", "simulate --find_max_batch"}}};

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         c == '-' || c == '"' || c == '/' || c == '.';
}

// A lower-case word may also be plain English: it is a term only at the
// beginning of the message.
bool IsTermAnywhere(std::string_view term) {
  return !std::ranges::all_of(term,
                              [](char c) { return 'a' <= c && c <= 'z'; });
}

void ReplaceTerm(std::string_view term, std::string_view flag,
                 std::string& text) {
  for (size_t at = text.find(term); at != text.npos;
       at = text.find(term, at + 1)) {
    const size_t end = at + term.size();
    const bool begins = at == 0 || !IsWordCharacter(text[at - 1]);
    const bool ends =
        end == text.size() || !IsWordCharacter(text[end]) || text[end] == '.';
    const bool is_term = IsTermAnywhere(term) ||
                         (at == 0 && end < text.size() && text[end] == ':');
    if (!begins || !ends || !is_term) continue;
    text.replace(at, term.size(), flag);
    at += flag.size();
  }
}

constexpr const char* kDeviceMemory = "--device_memory";

// "50%" is 0.5; nullopt for text without a percent sign at the end.
std::optional<double> ParsePart(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  double percent = 0;
  const char* end = text.data() + text.size() - 1;
  const auto result = std::from_chars(text.data(), end, percent);
  if (result.ec != std::errc() || result.ptr != end || !(percent > 0) ||
      percent > 100) {
    RefuseFlag(
        kDeviceMemory,
        fmt::format("\"{}\" is not a percentage above 0, up to 100%", text));
  }
  return percent / 100;
}

absl::StatusOr<int64_t> WholeMemory(const StepOptions& step,
                                    MemoryOwner owner) {
  if (owner == MemoryOwner::kDevice) return DeviceBudget(step);
  StepOptions quiet = step;
  quiet.warns_of_profile = false;
  SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile, ResolveProfile(quiet));
  return TuningBudget(step, profile);
}

// Options of LMS have the names of their flags.
void AddDashesToLmsOptions(std::string& text) {
  constexpr std::string_view kPrefix = "lms_";
  for (size_t at = text.find(kPrefix); at != text.npos;
       at = text.find(kPrefix, at + kPrefix.size())) {
    if (at > 0 && IsWordCharacter(text[at - 1])) continue;
    text.insert(at, "--");
    at += 2;
  }
}

void Replace(std::string_view from, std::string_view to, std::string& text) {
  const size_t at = text.find(from);
  if (at != text.npos) text.replace(at, from.size(), to);
}

std::string DefaultBudget(const MemoryFlagsSpec& spec) {
  std::string text;
  if (spec.owner == MemoryOwner::kProfile) {
    text = "the memory of a profile that is named, else ";
  }
  switch (spec.decider) {
    case Decider::kFlags:
      return text + "as little as the plan needs";
    case Decider::kLms:
      return text +
             "as little as the plan needs, or with --lms auto what is free on "
             "the device";
    case Decider::kTuner:
      return text + "what is free on the device";
  }
  return text;
}

// The orders that --schedule does not decide.
std::string_view ScheduleLimits(Decider decider) {
  switch (decider) {
    case Decider::kFlags:
      return "";
    case Decider::kLms:
      return ", unless a plan or the tuner decides it";
    case Decider::kTuner:
      return " for the floor that is printed (the tuner decides that of the "
             "plan)";
  }
  return "";
}

// A budget as it is given: bytes, or a part of the device's memory.
struct Budget {
  int64_t bytes = 0;
  std::optional<double> part = {};
};

Budget ParseBudget(const std::string& name, const std::string& text) {
  if (const std::optional<double> part = ParsePart(text)) {
    return {.part = part};
  }
  const absl::StatusOr<int64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) RefuseFlag(name, std::string(bytes.status().message()));
  return {.bytes = *bytes};
}

std::vector<Budget> ParseBudgets(const std::string& name,
                                 const std::string& text) {
  std::vector<Budget> budgets;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    budgets.push_back(ParseBudget(name, std::string(item)));
  }
  return budgets;
}

// Those of this process: one for all of its devices, or one for each.
std::vector<Budget> OfThisRank(const std::vector<Budget>& all, size_t devices) {
  if (all.size() == 1) return all;
  const absl::StatusOr<RankIdentity> identity = FindRank();
  if (!identity.ok()) {
    RefuseFlag(kDeviceMemory, std::string(identity.status().message()));
  }
  const auto ranks = static_cast<size_t>(identity->size);
  const auto rank = static_cast<size_t>(identity->rank);
  if (all.size() == ranks) return {all[rank]};
  if (all.size() != ranks * devices) {
    const std::string each =
        devices == 1 ? ""
                     : fmt::format(" of {} each", Counted(devices, "device"));
    RefuseFlag(kDeviceMemory,
               fmt::format("has {} budgets for a run of {}{}", all.size(),
                           Counted(ranks, "rank"), each));
  }
  const auto first = all.begin() + static_cast<ptrdiff_t>(rank * devices);
  return {first, first + static_cast<ptrdiff_t>(devices)};
}

int64_t BytesOf(const Budget& budget, const StepOptions& step,
                MemoryOwner owner) {
  if (!budget.part) return budget.bytes;
  const absl::StatusOr<int64_t> whole = WholeMemory(step, owner);
  if (!whole.ok()) {
    RefuseFlag(kDeviceMemory, std::string(whole.status().message()));
  }
  return static_cast<int64_t>(static_cast<double>(*whole) * *budget.part);
}

void AddDeviceMemoryFlag(FlagSet& flags, StepOptions& step,
                         const MemoryFlagsSpec& spec) {
  const auto budgets = std::make_shared<std::vector<Budget>>();
  const auto parse = [budgets](
                         const std::string& name,
                         const std::string& text) -> std::optional<int64_t> {
    *budgets = ParseBudgets(name, text);
    const bool is_known = budgets->size() == 1 && !budgets->front().part;
    return is_known ? std::optional(budgets->front().bytes) : std::nullopt;
  };
  flags.Add(kDeviceMemory, step.device_memory, parse)
      ->type_name("SIZE")
      ->description(fmt::format(
          "budget of the device, a hard limit: 512MiB, 2G, bytes, or 50% of "
          "{}what is free on the device; A,B,...: one for each "
          "rank of a run, or each of its devices. "
          "Default: {}",
          spec.owner == MemoryOwner::kProfile
              ? "the memory of a profile that is named, else of "
              : "",
          DefaultBudget(spec)));
  flags.AtEnd([budgets, spec, &step] {
    if (budgets->empty()) return;
    const size_t devices = spec.num_devices == nullptr
                               ? 1
                               : static_cast<size_t>(*spec.num_devices);
    const std::vector<Budget> own = OfThisRank(*budgets, devices);
    step.device_memory = BytesOf(own[0], step, spec.owner);
    if (own.size() == 1) return;
    for (const Budget& budget : own) {
      spec.device_budgets->push_back(BytesOf(budget, step, spec.owner));
    }
  });
}

}  // namespace

StepOptions DefaultStepOptions(LmsMode mode) {
  return {.lms = {.mode = mode}, .log = [](std::string_view line) {
            fmt::print(stderr, "{}\n", std::string(line));
          }};
}

void AddDeviceFlags(FlagSet& flags, StepOptions& step) {
  flags.BeginGroup("Device");
  flags
      .Text("--device", step.device,
            "default: cuda if this build and machine have it, else cpu")
      ->type_name("cpu|cuda|cuda:N|inline");
  flags.Int(
      "--threads", step.threads,
      {.help = "of kernels; 0, the default: all cores", .max = kMostThreads});
  flags.Add("--algorithms", step.algorithms, ParseAlgorithms)
      ->type_name("same|first|auto")
      ->description(
          "of kernels that have several: same (default), as in the step "
          "without a budget, the fastest by the profile; first, the library's "
          "first, for every profile; auto, smaller workspaces if the budget "
          "needs them, so results may round differently under another budget");
  flags.Bool(
      "--deterministic", step.math.deterministic,
      "equal inputs give bitwise identical results in every run; default "
      "true; false lets a GPU use algorithms that may be faster");
}

void AddLinkFlag(FlagSet& flags, StepOptions& step) {
  flags.Real("--link_gbps", step.link_gbps,
             {.help = "limit copies of the cpu or inline device to this many "
                      "1e9 bytes per second in each direction; 0, the default: "
                      "full speed",
              .max = 1e6});
}

void AddCudaGraphFlag(FlagSet& flags, StepOptions& step) {
  flags.Bool("--cuda_graph", step.capture_steps,
             "capture the second step as a CUDA graph and launch it as a whole "
             "from then on; results stay bitwise identical; default: issue "
             "every kernel and copy");
}

void AddMemoryFlags(FlagSet& flags, StepOptions& step,
                    const MemoryFlagsSpec& spec) {
  flags.BeginGroup("Memory");
  AddDeviceMemoryFlag(flags, step, spec);
  flags.Size("--host_memory", step.host_memory,
             fmt::format("limit of the swap pool; default: half of {}RAM or of "
                         "the container's limit",
                         spec.owner == MemoryOwner::kProfile
                             ? "the host memory of a profile that is named, "
                               "else of "
                             : ""));
  flags.Add("--schedule", step.schedule, ParseSchedule)
      ->type_name("auto|memory|creation")
      ->description(fmt::format(
          "order of the nodes{}: memory, the one of several orders that needs "
          "the least memory; creation, as the graph was built; auto "
          "(default): memory with --device_memory, --lms or --lms_recompute, "
          "else creation",
          ScheduleLimits(spec.decider)));
}

void AddPlaceFlag(FlagSet& flags, PlaceMode& place) {
  flags.Add("--place", place, ParsePlace)
      ->type_name("off|auto|updates|estimate|force")
      ->description(
          "which nodes run on the host: off (default), none; auto, those that "
          "no swaps could make fit --device_memory; updates, all that "
          "only update variables, which then live there; estimate, those whose "
          "inputs, outputs and workspace are not less than it; force, only "
          "those without a kernel for the device");
}

void AddCheckMemoryFlag(FlagSet& flags, StepOptions& step) {
  flags.Bool(
      "--check_memory", step.check_memory,
      "check every access of kernels and copies, and measure memory from "
      "its bytes; slower; only for the cpu and inline devices");
}

void AddProfileFlag(FlagSet& flags, StepOptions& step,
                    const std::string& help) {
  flags
      .Add("--profile", step.profile,
           [](const std::string&, const std::string& text) { return text; })
      ->type_name("PROFILE|FILE")
      ->description(help);
}

void AddPlanFlag(FlagSet& flags, std::string& plan) {
  const CLI::Option* flag =
      flags.File("--plan", plan,
                 "run what tune saved in this file: its clones, swaps, order "
                 "and budgets");
  flags.AtEnd([&flags, flag] {
    if (flag->count() == 0) return;
    if (flags.IsGiven("--lms")) {
      Refuse("--plan excludes --lms: the file says what to swap");
    }
    if (flags.IsGiven("--lms_recompute")) {
      Refuse(
          "--plan excludes --lms_recompute: the file says what to recompute");
    }
  });
}

absl::Status ReadPlanFlag(const std::string& path, const Graph& graph,
                          SavedPlan& plan, StepOptions& step) {
  if (path.empty()) return absl::OkStatus();
  absl::StatusOr<SavedPlan> read = LoadPlan(path, graph);
  if (!read.ok()) return Annotate(read.status(), "--plan");
  plan = *std::move(read);
  step.plan = &plan;
  return absl::OkStatus();
}

absl::Status InFlagTerms(const absl::Status& status, const Advice& advice) {
  if (status.ok()) return status;
  std::string text(status.message());
  if (!advice.has_batch_size) Replace(kFindMaxBatchHint, "", text);
  Replace(kAutoAdvice,
          advice.may_tune ? "--lms auto" : "--lms, --lms_recompute", text);
  AddDashesToLmsOptions(text);
  for (const auto& [term, flag] : kTerms) ReplaceTerm(term, flag, text);
  return WithMessage(status, text);
}

}  // namespace spillway
