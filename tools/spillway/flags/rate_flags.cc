#include "tools/spillway/flags/rate_flags.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

constexpr int64_t kMostUpdates = 1'000'000'000;

// The value of a parser of names, whose error lists them.
template <typename Value>
auto ParsedBy(absl::StatusOr<Value> (*parse)(std::string_view name)) {
  return [parse](const std::string& name, const std::string& text) {
    const absl::StatusOr<Value> value = parse(text);
    if (!value.ok()) RefuseFlag(name, std::string(value.status().message()));
    return *value;
  };
}

std::vector<std::string> Items(const std::string& text) {
  return absl::StrSplit(text, ',');
}

std::vector<int64_t> ParseIntegers(const std::string& name,
                                   const std::string& text) {
  std::vector<int64_t> values;
  for (const std::string& item : Items(text)) {
    if (!absl::SimpleAtoi(item, &values.emplace_back())) {
      RefuseFlag(name, fmt::format("\"{}\" is not an integer", item));
    }
  }
  return values;
}

std::vector<double> ParseNumbers(const std::string& name,
                                 const std::string& text) {
  std::vector<double> values;
  for (const std::string& item : Items(text)) {
    if (!absl::SimpleAtod(item, &values.emplace_back())) {
      RefuseFlag(name, fmt::format("\"{}\" is not a number", item));
    }
  }
  return values;
}

std::optional<int64_t> ParseUpdates(const std::string& name,
                                    const std::string& text) {
  int64_t value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= 1 && value <= kMostUpdates) {
    return value;
  }
  RefuseFlag(name, fmt::format("\"{}\" is not an integer from 1 to {}", text,
                               kMostUpdates));
}

CLI::Option* AddPolicy(FlagSet& set, const std::string& name, LrPolicy& policy,
                       const std::string& help) {
  return set.Add(name, policy.kind, ParsedBy<LrPolicyKind>(ParseLrPolicyKind))
      ->type_name(
          "constant|linear|cosine|fixed|step|multifactor|exp|inv|poly|sigmoid|"
          "piecewise")
      ->description(help);
}

void AddLargeBatchFlags(FlagSet& set, RateFlags& flags) {
  LargeBatchWarmUp& large = flags.large_batch;
  CLI::Option* scale =
      set.Int("--batch_scale", large.batch_scale,
              {.help = "batches of an update of lbsgd; default 1",
               .min = 1,
               .max = kMostUpdates});
  set.Int("--macrobatch_size", flags.macrobatch_size,
          {.help = "the same in rows", .min = 1, .max = kMostUpdates})
      ->excludes(scale);
  set.Add("--warmup_strategy", large.strategy,
          ParsedBy<WarmUpStrategy>(ParseWarmUpStrategy))
      ->type_name("linear|power2|sqrt|lars")
      ->description(
          "how the rate of lbsgd climbs to --batch_scale times itself; lars: "
          "by a ratio of norms for each variable instead; default linear");
  set.Int("--warmup_epochs", large.warmup_epochs,
          {.help = "length of this climb; default 5", .max = kMostUpdates});
  set.Int("--updates_per_epoch", flags.updates_per_epoch,
          {.help = "batches of an epoch for this climb; default: from the data",
           .min = 1,
           .max = kMostUpdates});
}

// A policy that leaves the rate where it is, is more likely an oversight: step
// without --lr_step, for example. All but piecewise only rise or only fall.
void WarnIfRateStays(const LrPolicy& policy, const LrSchedule& schedule,
                     int64_t updates) {
  const int64_t first = policy.warmup.steps;
  if (IsConstant(policy) || policy.kind == LrPolicyKind::kPiecewise ||
      first + 1 >= updates || schedule(first) != schedule(updates - 1)) {
    return;
  }
  spdlog::warn("--lr_policy {}: the rate stays {} to the last of {} updates",
               LrPolicyKindName(policy.kind), schedule(first), updates);
}

}  // namespace

bool IsConstant(const LrPolicy& policy) {
  return policy.warmup.steps == 0 && (policy.kind == LrPolicyKind::kConstant ||
                                      policy.kind == LrPolicyKind::kFixed);
}

std::vector<CLI::Option*> AddPolicyFlags(FlagSet& set, LrPolicy& policy) {
  set.BeginGroup("Learning rate");
  WarmUp& warm_up = policy.warmup;
  return {
      AddPolicy(set, "--lr_policy", policy,
                "how the rate changes over the training; default constant"),
      AddPolicy(set, "--lr_schedule", policy, "the same"),
      set.Real("--lr_gamma", policy.gamma,
               {.help = "factor of step, multifactor, exp, inv and sigmoid; "
                        "default 0.95",
                .min = std::numeric_limits<double>::lowest()}),
      set.Int("--lr_step", policy.step,
              {.help = "epochs between steps, and where sigmoid falls; default "
                       "100000",
               .max = kMostUpdates}),
      set.Real("--lr_power", policy.power,
               {.help = "of inv and poly; default 0.75, and 2 for poly with "
                        "--lr_max_update"}),
      set.Add("--lr_max_update", policy.max_update, ParseUpdates)
          ->type_name("N")
          ->description("the update at which linear, cosine and poly end; "
                        "default: the last one, but poly falls by epochs"),
      set.Real("--lr_final", policy.final_rate,
               {.help = "rate at the end of linear, cosine and poly; default "
                        "0"}),
      set.Add("--lr_step_epochs", policy.step_epochs, ParseIntegers)
          ->type_name("N,N,...")
          ->description(
              "epochs after which multifactor multiplies by --lr_gamma"),
      set.Add("--lr_boundaries", policy.boundaries, ParseIntegers)
          ->type_name("N,N,...")
          ->description("updates at which piecewise takes the next value"),
      set.Add("--lr_values", policy.values, ParseNumbers)
          ->type_name("X,X,...")
          ->description("rates of piecewise, one more than boundaries"),
      set.Int("--lr_warmup_steps", warm_up.steps,
              {.help = "updates until the rate is reached; default 0",
               .max = kMostUpdates}),
      set.Real("--lr_warmup_begin", warm_up.begin,
               {.help = "rate of the first of them; default 0"}),
      set.Add("--lr_warmup_mode", warm_up.mode,
              ParsedBy<WarmUpMode>(ParseWarmUpMode))
          ->type_name("linear|constant")
          ->description("default linear; constant stays at "
                        "--lr_warmup_begin"),
  };
}

void AddRateFlags(FlagSet& set, RateFlags& flags) {
  AddPolicyFlags(set, flags.policy);
  AddLargeBatchFlags(set, flags);
}

absl::StatusOr<LrSchedule> MakeRate(const RateFlags& flags, double rate,
                                    const MicroBatchPlan& plan,
                                    int64_t updates) {
  const bool scales = flags.large_batch.batch_scale > 1;
  if (IsConstant(flags.policy) && !scales) return LrSchedule();
  LrPolicy policy = flags.policy;
  policy.rate = rate;
  absl::StatusOr<LrSchedule> schedule = MakeLrSchedule(
      policy,
      {.updates = updates,
       .epochs = plan.EpochOf(updates - 1) + 1,
       .epoch_of = [plan](int64_t update) { return plan.EpochOf(update); }});
  if (!schedule.ok()) return Annotate(schedule.status(), "--lr_policy");
  WarnIfRateStays(policy, *schedule, updates);
  if (!scales) return schedule;
  SPILLWAY_RETURN_IF_ERROR(CheckLargeBatchWarmUp(flags.large_batch));
  return WithLargeBatchWarmUp(*std::move(schedule), flags.large_batch);
}

void AddInitializerFlags(FlagSet& set, InitializerOptions& options) {
  set.BeginGroup("Initial values");
  set.Add("--initializer", options.rule,
          ParsedBy<InitializerRule>(ParseInitializerRule))
      ->type_name(
          "default|uniform|normal|xavier|msra|orthogonal|zero|one|constant")
      ->description("of all weights; default: what each layer chooses");
  set.Real("--initializer_scale", options.scale,
           {.help = "limit, deviation, magnitude, slope or value; default: "
                    "the initializer's",
            .min = std::numeric_limits<double>::lowest()});
  const auto factor = [](const std::string& name, const std::string& text) {
    return std::optional(ParsedBy<FanFactor>(ParseFanFactor)(name, text));
  };
  set.Add("--initializer_factor", options.factor, factor)
      ->type_name("avg|in|out")
      ->description("fan of xavier and msra; default avg");
  const auto numbers = [](const std::string& name, const std::string& text) {
    return std::optional(
        ParsedBy<InitializerNumbers>(ParseInitializerNumbers)(name, text));
  };
  set.Add("--initializer_rnd", options.numbers, numbers)
      ->type_name("uniform|gaussian")
      ->description("of xavier and orthogonal; default uniform");
}

}  // namespace spillway
