#include "tools/spillway/flags/loop_flags.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/counted.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

constexpr int64_t kMostCount = 1'000'000'000;

constexpr std::array<TrainAlgorithm, 5> kAlgorithms = {
    TrainAlgorithm::kMinibatch, TrainAlgorithm::kBatch,
    TrainAlgorithm::kLoopedMinibatch, TrainAlgorithm::kAllreduceParallelBatches,
    TrainAlgorithm::kAllreduce};
constexpr std::array<Tail, 5> kTails = {
    Tail::kPartial, Tail::kDrop, Tail::kWrap, Tail::kDrift, Tail::kCycle};

TrainAlgorithm AlgorithmNamed(const std::string& name) {
  return *std::ranges::find(kAlgorithms, name, TrainAlgorithmName);
}

bool HasGroups(const std::string& algorithm) {
  return algorithm == "looped_minibatch" ||
         algorithm == "allreduce_parallel_batches";
}

// In any case, as in SystemML.
std::string ParseAlgorithm(const std::string& name, const std::string& text) {
  const std::string lower = absl::AsciiStrToLower(text);
  std::vector<std::string> names;
  for (const TrainAlgorithm algorithm : kAlgorithms) {
    names.emplace_back(TrainAlgorithmName(algorithm));
    if (lower == names.back()) return lower;
  }
  RefuseFlag(name, fmt::format("\"{}\" is not one of {}", text, Join(names)));
}

CLI::Option* AddAlgorithm(FlagSet& set, const std::string& name,
                          std::string& value, const std::string& help) {
  return set.Add(name, value, ParseAlgorithm)
      ->type_name(
          "minibatch|batch|looped_minibatch|allreduce_parallel_batches|"
          "allreduce")
      ->description(help);
}

void AddRowFlags(FlagSet& set, LoopFlags& flags) {
  AddAlgorithm(set, "--train_algo", flags.train_algo,
               "the rows of an update: a batch; all; --parallel_batches "
               "batches, one by one or as if on as many devices; a batch, row "
               "by row. Default minibatch");
  set.Int("--parallel_batches", flags.parallel_batches,
          {.help = "batches of an update, in the memory of one: "
                   "looped_minibatch and allreduce_parallel_batches",
           .min = 1,
           .max = kMostCount});
  set.Bool("--weight_parallel_batches", flags.weight_parallel_batches,
           "default true: the gradient of an update is the mean over its rows; "
           "false: the sum of its batches' means");
  set.Choice("--tail", flags.tail,
             {.help = "rows at the end of an epoch that do not fill an update: "
                      "a smaller one (default), none, the data starts again, "
                      "a short one after which batches begin elsewhere, or one "
                      "that goes on with the first rows (default with --onnx "
                      "and without --shuffle)",
              .choices = {"partial", "drop", "wrap", "drift", "cycle"}});
  set.Choice("--shuffle", flags.shuffle,
             {.help = "default epoch: another order of the rows in each",
              .choices = {"none", "epoch"}});
  set.Bool("--fused_update", flags.fused_update,
           "default true: a variable is updated as soon as its gradient "
           "exists; false: all of them at the end of the step");
  set.Bool("--check_finite", flags.check_finite,
           "end with status 4 where the loss or a gradient is not finite");
}

void AddLengthFlags(FlagSet& set, LoopFlags& flags) {
  const auto add = [&](const char* name, int64_t& value, const char* help) {
    return set.Int(name, value, {.help = help, .min = 1, .max = kMostCount});
  };
  CLI::Option* epochs = add("--num_epochs", flags.num_epochs,
                            "length of the training; default 1");
  CLI::Option* steps =
      add("--num_steps", flags.num_steps, "the same in updates");
  CLI::Option* batches = add("--max_iter", flags.max_iter,
                             "the same in batches, as SystemML counts");
  steps->excludes(epochs);
  batches->excludes(epochs);
  batches->excludes(steps);
}

void AddIntervalFlags(FlagSet& set, LoopFlags& flags) {
  AddAlgorithm(set, "--test_algo", flags.test_algo,
               "rows of a step of a test: a batch, all, a batch, a batch, or "
               "one; the results are the same. Default minibatch");
  set.Int("--test_iter", flags.test_iter,
          {.help = "the first so many batches of the training data are not "
                   "trained on, but tested every --test_interval batches",
           .min = 1,
           .max = kMostCount});
  set.Int("--test_interval", flags.test_interval,
          {.help = "default 500", .min = 1, .max = kMostCount});
  set.Int("--top_k", flags.top_k,
          {.help = "tests also count the labels among the k largest answers",
           .min = 2,
           .max = kMostCount});
  set.Int("--display", flags.display,
          {.help = "print loss and accuracy every so many batches",
           .min = 1,
           .max = kMostCount});
  set.Int("--snapshot", flags.snapshot,
          {.help = "write a checkpoint every so many batches",
           .min = 1,
           .max = kMostCount});
  set.Text("--snapshot_prefix", flags.snapshot_prefix,
           "of the names of these: PREFIX_iter_<batches>.safetensors");
}

}  // namespace

bool LoopFlags::has_groups() const { return HasGroups(train_algo); }

void AddLoopFlags(FlagSet& set, LoopFlags& flags) {
  set.BeginGroup("Loop");
  AddRowFlags(set, flags);
  AddLengthFlags(set, flags);
  AddIntervalFlags(set, flags);
  set.Bool("--dry_run", flags.dry_run,
           "print the updates that the training would take, and run nothing");
  set.AtEnd([&set, &flags] {
    const bool needs_groups = flags.has_groups() || HasGroups(flags.test_algo);
    if (needs_groups && flags.parallel_batches == 0) {
      Refuse(fmt::format("{} needs --parallel_batches",
                         flags.has_groups()
                             ? "--train_algo " + flags.train_algo
                             : "--test_algo " + flags.test_algo));
    }
    if (!needs_groups && flags.parallel_batches != 0) {
      spdlog::warn("--parallel_batches is ignored with --train_algo {}",
                   flags.train_algo);
    }
    if (flags.fused_update && set.IsGiven("--fused_update") &&
        flags.has_groups()) {
      spdlog::warn(
          "--fused_update has no effect with --train_algo {}: an update "
          "follows its last batch",
          flags.train_algo);
    }
    if (flags.snapshot > 0 && flags.snapshot_prefix.empty()) {
      Refuse("--snapshot needs --snapshot_prefix");
    }
  });
}

MicroBatchSpec RowsOf(const LoopFlags& flags, int64_t rows,
                      int64_t batch_size) {
  return {.algorithm = AlgorithmNamed(flags.train_algo),
          .rows = rows,
          .batch_size = batch_size,
          .parallel_batches =
              flags.has_groups() ? flags.parallel_batches : int64_t{1},
          .tail = *std::ranges::find(kTails, flags.tail, TailName),
          .weighted = flags.weight_parallel_batches};
}

absl::StatusOr<MicroBatchPlan> PlanOf(const MicroBatchSpec& rows) {
  absl::StatusOr<MicroBatchPlan> plan = MicroBatchPlan::Create(rows);
  if (plan.ok() || rows.world_size > 1) return plan;
  return InvalidArgument("--" + std::string(plan.status().message()));
}

TrainingLength LengthOf(const LoopFlags& flags) {
  if (flags.num_steps > 0) return {.updates = flags.num_steps};
  if (flags.max_iter > 0) return {.micro_batches = flags.max_iter};
  return {.epochs = std::max<int64_t>(1, flags.num_epochs)};
}

absl::StatusOr<int64_t> ValidationRows(const LoopFlags& flags, int64_t rows,
                                       int64_t batch_size) {
  const int64_t most = (3 * rows + 9) / 10;
  if (flags.test_iter <= most / batch_size) {
    return flags.test_iter * batch_size;
  }
  return InvalidArgument(fmt::format(
      "--test_iter: {} batches of {} are more than 30 % of the {}; at most {} "
      "{} possible",
      flags.test_iter, batch_size, Counted(rows, "row"), most / batch_size,
      most / batch_size == 1 ? "is" : "are"));
}

int64_t EvaluationBatch(const LoopFlags& flags, int64_t batch_size,
                        int64_t rows) {
  if (flags.test_algo == "batch") return rows;
  return flags.test_algo == "allreduce" ? 1 : batch_size;
}

}  // namespace spillway
