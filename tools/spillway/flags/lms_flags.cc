#include "tools/spillway/flags/lms_flags.h"

#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "fmt/format.h"

namespace spillway {
namespace {

LmsMode ParseMode(const std::string& name, const std::string& text) {
  const std::string lower = CLI::detail::to_lower(text);
  if (lower == "off" || lower == "false") return LmsMode::kOff;
  if (lower == "v1") return LmsMode::kV1;
  if (lower == "v2") return LmsMode::kV2;
  if (lower == "auto" || lower == "true" || lower.empty()) {
    return LmsMode::kAuto;
  }
  RefuseFlag(name, fmt::format("\"{}\" is not one of off, auto, v1, v2", text));
}

RecomputePolicy ParsePolicy(const std::string& name, const std::string& text) {
  const std::optional<RecomputePolicy> policy = ParseRecomputePolicy(text);
  if (policy) return *policy;
  RefuseFlag(name,
             fmt::format("\"{}\" is not one of off, auto, cheap, sqrt", text));
}

ControlStrategy ParseStrategy(const std::string& name,
                              const std::string& text) {
  const std::optional<ControlStrategy> strategy = ParseControlStrategy(text);
  if (strategy) return *strategy;
  RefuseFlag(
      name, fmt::format("\"{}\" is not one of chain_rule, direct_order", text));
}

using Options = std::vector<CLI::Option*>;

Options AddCommonFlags(FlagSet& flags, LmsOptions& options) {
  return {
      flags.Size("--lms_size_threshold", options.size_threshold_bytes,
                 "smaller tensors never move; default 0"),
      flags.Bool("--lms_compat", options.compat,
                 "reproduce TFLMS's choices where Spillway's differ; default "
                 "false"),
      flags.Int(
          "--lms_debug_level", options.debug_level,
          {.help = "log 1: each swap, 2: each step; default 0", .max = 2}),
  };
}

struct RecomputeFlags {
  CLI::Option* policy = nullptr;
  Options excluded = {};
};

RecomputeFlags AddRecomputeFlags(FlagSet& flags, RecomputeOptions& options,
                                 Decider decider) {
  flags.BeginGroup("Recomputation");
  const bool may_tune = decider != Decider::kFlags;
  CLI::Option* policy =
      flags.Add("--lms_recompute", options.policy, ParsePolicy)
          ->type_name(may_tune ? "off|auto|cheap|sqrt" : "off|cheap|sqrt")
          ->description(fmt::format(
              "what is computed again for the backward phase: cheap: outputs "
              "of ops that memory traffic bounds, sqrt: all but checkpoints{}",
              may_tune ? ", auto: the tuner's choice; default auto with --lms "
                         "auto, else off"
                       : "; default off"));
  const Options excluded = {
      flags.List("--lms_recompute_excl_scopes", options.excl_scopes,
                 "scopes whose nodes are never computed again"),
      flags.List("--lms_recompute_excl_types", options.excl_types,
                 "ops that are never computed again")};
  return {policy, excluded};
}

Options AddV1Numbers(FlagSet& flags, LmsOptions& options) {
  return {
      flags.Int(
          "--lms_n_tensors", options.v1.n_tensors,
          {.help = "most tensors to swap; -1, the default: all", .min = -1}),
      flags.Int("--lms_lb", options.v1.lb,
                {.help = "a swap-in starts at least this much earlier than "
                         "its reader; default 1"}),
      flags.Int("--lms_ub", options.v1.ub,
                {.help = "and less than this much earlier; default 10000"}),
      flags
          .Add("--lms_ctrld_strategy", options.v1.ctrld_strategy, ParseStrategy)
          ->type_name("chain_rule|direct_order")
          ->description("how a swap-in's trigger is found; default chain_rule"),
      flags.Bool("--lms_fuse_swapins", options.v1.fuse_swapins,
                 "one swap-in for all readers of a tensor; default false"),
      flags.Bool("--lms_swap_branches", options.v1.swap_branches,
                 "swap towards far forward readers too; default false"),
      flags.Int("--lms_branch_threshold", options.v1.branch_threshold,
                {.help = "far: more than this many orders after a tensor's "
                         "first forward reader; default 0"}),
  };
}

Options AddV1Lists(FlagSet& flags, LmsOptions& options) {
  return {
      flags.List("--lms_optimizer_scopes", options.v1.optimizer_scopes,
                 "scopes of the backward phase; default: those with a "
                 "gradients scope in them"),
      flags.Text("--lms_starting_scope", options.v1.starting_scope,
                 "scope in which the forward phase begins; default: detected"),
      flags.List("--lms_starting_op_names", options.v1.starting_op_names,
                 "nodes with which the forward phase begins"),
      flags.List("--lms_excl_scopes", options.v1.excl_scopes,
                 "scopes whose nodes' outputs never move"),
      flags.List("--lms_incl_scopes", options.v1.incl_scopes,
                 "only outputs of nodes in these scopes may move"),
      flags.List("--lms_excl_types", options.v1.excl_types,
                 "ops whose outputs never move"),
      flags.List("--lms_incl_types", options.v1.incl_types,
                 "only outputs of these ops may move"),
  };
}

// A number of version 2: -1, which means to be tuned, or at least 1.
int64_t ParseTunable(const std::string& name, const std::string& text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  const bool is_number = result.ec == std::errc() && result.ptr == end;
  if (is_number && (number == -1 || number >= 1)) return number;
  RefuseFlag(name, fmt::format("\"{}\" is neither -1 (to be tuned) nor an "
                               "integer of at least 1",
                               text));
}

Options AddV2Numbers(FlagSet& flags, LmsOptions& options, Decider decider) {
  const bool may_tune = decider != Decider::kFlags;
  const std::string fallback =
      may_tune ? "default -1: to be tuned" : "needed with --lms v2";
  const std::string swap_in_fallback =
      may_tune ? fallback : fallback + " and --lms_sync_mode 0 or 1";
  return {
      flags
          .Add("--lms_swapout_threshold", options.v2.swapout_threshold,
               ParseTunable)
          ->type_name("N")
          ->description("swap towards readers more than this many levels "
                        "away; " +
                        fallback),
      flags.Add("--lms_swapin_ahead", options.v2.swapin_ahead, ParseTunable)
          ->type_name("N")
          ->description(
              "a swap-in starts this many levels before its reader; " +
              swap_in_fallback),
      flags.Int("--lms_swapin_groupby", options.v2.swapin_groupby,
                {.help = "readers whose levels differ by at most this share a "
                         "swap-in; " +
                         swap_in_fallback,
                 .min = -1}),
      flags.Int("--lms_sync_mode", options.v2.sync_mode,
                {.help = "compute waits for copies 1: out, 2: in, 3: both; "
                         "default 0",
                 .max = 3}),
      flags.List("--lms_serialization", options.v2.serialization,
                 "levels to run one node after the other: 1,3:5 (without 5)"),
      flags.Real(
          "--lms_serialization_by_size", options.v2.serialization_by_size_gib,
          {.help = "also levels of more than this many GiB; default 0: none"}),
      flags.Bool("--lms_is_training", options.v2.is_training,
                 "whether the graph trains; default true"),
  };
}

Options AddV2Lists(FlagSet& flags, LmsOptions& options) {
  return {
      flags.List("--lms_excl_output_by_scopes",
                 options.v2.excl_output_by_scopes,
                 "scopes whose nodes' outputs never move"),
      flags.List("--lms_excl_output_by_types", options.v2.excl_output_by_types,
                 "ops whose outputs never move"),
      flags.List("--lms_excl_input_by_scopes", options.v2.excl_input_by_scopes,
                 "scopes whose nodes read no swap-in"),
      flags.List("--lms_excl_input_by_types", options.v2.excl_input_by_types,
                 "ops that read no swap-in"),
      flags.List("--lms_incl_output_by_scopes",
                 options.v2.incl_output_by_scopes,
                 "only outputs of nodes in these scopes may move"),
      flags.List("--lms_incl_output_by_types", options.v2.incl_output_by_types,
                 "only outputs of these ops may move"),
      flags.List("--lms_incl_input_by_scopes", options.v2.incl_input_by_scopes,
                 "only nodes in these scopes read swap-ins"),
      flags.List("--lms_incl_input_by_types", options.v2.incl_input_by_types,
                 "only these ops read swap-ins"),
  };
}

Options Together(Options some, const Options& others) {
  some.insert(some.end(), others.begin(), others.end());
  return some;
}

// Refuses those of `flags` that are given.
void RefuseAny(const Options& flags, const std::string& problem) {
  for (const CLI::Option* option : flags) {
    if (option->count() > 0) RefuseFlag(option->get_name(), problem);
  }
}

// Refuses flags of one version if --lms asks for the other.
void CheckVersion(const LmsOptions& options, const Options& v1,
                  const Options& v2) {
  const auto refuse = [&](const Options& flags, int version) {
    RefuseAny(flags, fmt::format("is a flag of version {}, but --lms is {}",
                                 version, LmsModeName(options.mode)));
  };
  if (options.mode == LmsMode::kV1) refuse(v2, 2);
  if (options.mode == LmsMode::kV2) refuse(v1, 1);
}

CLI::Option* AddModeFlag(FlagSet& flags, LmsOptions& options, Decider decider) {
  const std::string fallback =
      fmt::format("default {}", std::string(LmsModeName(options.mode)));
  CLI::Option* mode = flags.Add("--lms", options.mode, ParseMode);
  switch (decider) {
    case Decider::kFlags:
      return mode->type_name("off|v1|v2")->description(fallback);
    case Decider::kLms:
      return mode->type_name("off|auto|v1|v2")
          ->description(fallback + "; --lms alone means auto")
          ->expected(0, 1);
    case Decider::kTuner:
      return mode->type_name("auto|v1|v2")
          ->description(fallback + ", as does --lms alone")
          ->expected(0, 1);
  }
  return mode;
}

}  // namespace

void AddLmsFlags(FlagSet& flags, LmsOptions& options, Decider decider) {
  flags.BeginGroup("Large-model support");
  CLI::Option* mode = AddModeFlag(flags, options, decider);
  const bool off_by_default = options.mode == LmsMode::kOff;
  const Options common = AddCommonFlags(flags, options);
  const RecomputeFlags recompute =
      AddRecomputeFlags(flags, options.recompute, decider);
  flags.BeginGroup("Large-model support, version 1");
  const Options v1_numbers = AddV1Numbers(flags, options);
  const Options v1 = Together(v1_numbers, AddV1Lists(flags, options));
  flags.BeginGroup("Large-model support, version 2");
  const Options v2_numbers = AddV2Numbers(flags, options, decider);
  const Options v2 = Together(v2_numbers, AddV2Lists(flags, options));
  if (off_by_default) {
    for (CLI::Option* option : Together(v1, v2)) option->needs(mode);
  }
  flags.AtEnd([&options, common, v1, v2, mode, recompute, off_by_default] {
    if (!Recomputes(options) && !TunesRecomputation(options)) {
      RefuseAny(recompute.excluded, "requires --lms_recompute or --lms auto");
    }
    if (off_by_default && mode->count() + recompute.policy->count() == 0) {
      RefuseAny(common, "requires --lms or --lms_recompute");
    }
    CheckVersion(options, v1, v2);
  });
}

}  // namespace spillway
