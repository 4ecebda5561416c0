#include "tools/spillway/lms_flags.h"

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "lms/lms.h"

namespace spillway {
namespace {

LmsMode ParseMode(const std::string& name, const std::string& text) {
  const std::string lower = CLI::detail::to_lower(text);
  if (lower == "off" || lower == "false") return LmsMode::kOff;
  if (lower == "v1") return LmsMode::kV1;
  if (lower == "auto" || lower == "true") {
    RefuseFlag(name, "auto-tuning is not in this version, use --lms v1");
  }
  if (lower == "v2") RefuseFlag(name, "v2 is not in this version, use v1");
  RefuseFlag(name, fmt::format("\"{}\" is none of off, v1", text));
}

ControlStrategy ParseStrategy(const std::string& name,
                              const std::string& text) {
  const std::optional<ControlStrategy> strategy = ParseControlStrategy(text);
  if (strategy) return *strategy;
  RefuseFlag(name,
             fmt::format("\"{}\" is none of chain_rule, direct_order", text));
}

std::vector<CLI::Option*> AddV1Flags(FlagSet& flags, LmsOptions& options) {
  return {
      flags.Int(
          "--lms_n_tensors", options.n_tensors,
          {.help = "most tensors to swap; -1, the default: all", .min = -1}),
      flags.Int("--lms_lb", options.lb,
                {.help = "a swap-in starts at least this much earlier than "
                         "its reader; default 1"}),
      flags.Int("--lms_ub", options.ub,
                {.help = "and less than this much earlier; default 10000"}),
      flags.Add("--lms_ctrld_strategy", options.ctrld_strategy, ParseStrategy)
          ->type_name("chain_rule|direct_order")
          ->description("how a swap-in's trigger is found; default chain_rule"),
      flags.List("--lms_optimizer_scopes", options.optimizer_scopes,
                 "scopes of the backward phase; default: those with a "
                 "gradients scope in them"),
      flags.Size("--lms_size_threshold", options.size_threshold_bytes,
                 "smaller tensors never move; default 0"),
      flags.Bool("--lms_compat", options.compat,
                 "reproduce the original's choices where ours differ; default "
                 "false"),
  };
}

}  // namespace

void AddLmsFlags(FlagSet& flags, LmsOptions& options) {
  flags.BeginGroup("Large-model support");
  CLI::Option* mode =
      flags.Add("--lms", options.mode, ParseMode)
          ->type_name("off|v1")
          ->description("default " + std::string(LmsModeName(options.mode)));
  const bool off_by_default = options.mode == LmsMode::kOff;
  for (CLI::Option* option : AddV1Flags(flags, options)) {
    if (off_by_default) option->needs(mode);
  }
}

absl::StatusOr<LmsReport> EditGraph(const LmsOptions& options, Graph& graph) {
  if (options.mode == LmsMode::kOff) {
    LmsReport unchanged = MakeReport({}, graph, graph);
    unchanged.equivalent = true;
    return unchanged;
  }
  const auto begin = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(LmsReport report, ApplyLms(options, graph));
  const std::chrono::nanoseconds taken =
      std::chrono::steady_clock::now() - begin;
  report.edit_ns = taken.count();
  for (const std::string& line : LogLines(options, report)) {
    fmt::print(stderr, "{}\n", line);
  }
  return report;
}

}  // namespace spillway
