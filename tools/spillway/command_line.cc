#include "tools/spillway/command_line.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "base/edit_distance.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "comm/exit_status.h"
#include "executor/device/process_memory.h"
#include "fmt/format.h"
#include "tools/spillway/command/bench_command.h"
#include "tools/spillway/command/completion_command.h"
#include "tools/spillway/command/edit_command.h"
#include "tools/spillway/command/import_command.h"
#include "tools/spillway/command/inspect_command.h"
#include "tools/spillway/command/launch_command.h"
#include "tools/spillway/command/manual_command.h"
#include "tools/spillway/command/models_command.h"
#include "tools/spillway/command/pack_command.h"
#include "tools/spillway/command/profile_command.h"
#include "tools/spillway/command/run_command.h"
#include "tools/spillway/command/simulate_command.h"
#include "tools/spillway/command/train_command.h"
#include "tools/spillway/command/tune_command.h"
#include "tools/spillway/exit_status.h"
#include "tools/spillway/flags/step_flags.h"
#include "tools/spillway/interrupt.h"
#include "tools/spillway/manual/help_text.h"
#include "tools/spillway/output/output.h"

namespace spillway {
namespace {

using Arguments = std::vector<std::string>;

// "; did you mean --budget?", or empty if no name is near.
std::string DidYouMean(std::string_view word,
                       const std::vector<std::string>& names) {
  const std::string name = NameMeantBy(word, names);
  return name.empty() ? "" : fmt::format("; did you mean {}?", name);
}

std::vector<std::string> FlagNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    names.push_back(option->get_name());
  }
  return names;
}

// Checks what CLI11 would report less clearly or for another flag: every flag
// exists, and has a value unless it is boolean. No value starts with two
// dashes.
absl::Status CheckFlags(const CLI::App& app, const Arguments& arguments) {
  const auto is_flag = [&](size_t i) {
    return i < arguments.size() && arguments[i].starts_with("--");
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!is_flag(i)) continue;
    const size_t equals = arguments[i].find('=');
    const std::string name = arguments[i].substr(0, equals);
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option == nullptr) {
      return InvalidArgument(fmt::format("unknown flag {}{}; see {} --help",
                                         name, DidYouMean(name, FlagNames(app)),
                                         app.get_name()));
    }
    const bool has_value = equals == std::string::npos
                               ? i + 1 < arguments.size() && !is_flag(i + 1)
                               : equals + 1 < arguments[i].size();
    if (!has_value && option->get_items_expected_min() > 0) {
      return InvalidArgument(
          fmt::format("{}: needs a value, {}", name, option->get_type_name()));
    }
  }
  return absl::OkStatus();
}

// An error that CLI11 found, in our words.
absl::Status UsageError(const CLI::App& app, const CLI::ParseError& error) {
  const std::string see = fmt::format("see {} --help", app.get_name());
  const std::string message = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    return InvalidArgument(fmt::format("unexpected argument \"{}\"; {}",
                                       app.remaining().front(), see));
  }
  for (const CLI::Option* option : app.get_options()) {
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) break;
    if (option->count() < 2) continue;
    return InvalidArgument(fmt::format("{}: is given {} times; give it once",
                                       option->get_name(), option->count()));
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    return InvalidArgument(fmt::format("{}; {}", message, see));
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    return InvalidArgument(message + "; give one of the two");
  }
  return InvalidArgument(message);
}

// Whether words may follow "--".
bool TakesRest(const CLI::App& app) {
  return std::ranges::any_of(app.get_options(), [](const auto* option) {
    return option->get_group() == kRestGroup;
  });
}

// Removes "--" and what follows, and returns the words that follow.
Arguments CutRest(Arguments& arguments) {
  const auto mark = std::ranges::find(arguments, "--");
  if (mark == arguments.end()) return {};
  Arguments rest = {mark + 1, arguments.end()};
  arguments.erase(mark, arguments.end());
  return rest;
}

// Fills the flags of `app`. With --help or --help_all, sets `help` to the
// length.
absl::Status Parse(CLI::App& app, Arguments arguments,
                   std::optional<HelpLength>& help) {
  Arguments rest;
  if (TakesRest(app)) rest = CutRest(arguments);
  SPILLWAY_RETURN_IF_ERROR(CheckFlags(app, arguments));
  if (!rest.empty()) arguments.insert(arguments.end(), {"--", JoinRest(rest)});
  std::ranges::reverse(arguments);  // CLI11 needs this order
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    help = HelpLength::kShort;
  } catch (const CLI::CallForAllHelp&) {
    help = HelpLength::kLong;
  } catch (const CLI::ParseError& error) {
    return UsageError(app, error);
  }
  return absl::OkStatus();
}

// Adds the flags of a command to `app`. The result runs the command with the
// parsed flags; `app` must be parsed during the lifetime of the result.
using AddCommand = absl::AnyInvocable<absl::Status()> (*)(CLI::App& app);

template <typename Flags, void (*add_flags)(FlagSet&, Flags&),
          absl::Status (*run)(const Flags&)>
absl::AnyInvocable<absl::Status()> Add(CLI::App& app) {
  auto flags = std::make_unique<Flags>();
  auto set = std::make_unique<FlagSet>(app);
  add_flags(*set, *flags);
  return
      [flags = std::move(flags), set = std::move(set)] { return run(*flags); };
}

using Texts = std::vector<std::string>;

struct Command {
  std::string name = {};
  std::string summary = {};
  AddCommand add = nullptr;
  Texts examples = {};
  Texts common_flags = {};
};

const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = {
      {.name = "bench",
       .summary = "Measure a model's training speed on synthetic images.",
       .add = Add<BenchFlags, AddBenchFlags, RunBench>,
       .examples = {"spillway bench --model resnet50 --batch_size 16",
                    "spillway bench --model resnet50 --batch_size 16 "
                    "--device_memory 1G --lms"},
       .common_flags = {"--model", "--batch_size", "--num_batches",
                        "--precision", "--device", "--threads",
                        "--device_memory", "--lms", "--lms_recompute", "--plan",
                        "--report", "--json", "--help_all"}},
      {.name = "completion",
       .summary = "Print the completion script for a shell.",
       .add = Add<CompletionFlags, AddCompletionFlags, RunCompletion>},
      {.name = "edit",
       .summary = "Rewrite a graph file for large-model support; runs nothing.",
       .add = Add<EditFlags, AddEditFlags, RunEdit>,
       .examples = {"spillway edit --graph step.json --out edited.json"},
       .common_flags = {"--graph", "--out", "--dot", "--lms", "--lms_n_tensors",
                        "--lms_lb", "--lms_swapout_threshold",
                        "--lms_swapin_ahead", "--json", "--help_all"}},
      {.name = "import",
       .summary = "Turn an ONNX model into a graph file; runs nothing.",
       .add = Add<ImportFlags, AddImportFlags, RunImport>,
       .examples = {"spillway import --onnx net.onnx --batch_size 32 --out "
                    "net.json --weights net.safetensors"},
       .common_flags = {"--onnx", "--batch_size", "--dim", "--loss", "--out",
                        "--weights", "--json", "--help_all"}},
      {.name = "inspect",
       .summary = "Show the contents of a graph and the memory it needs.",
       .add = Add<InspectFlags, AddInspectFlags, RunInspect>,
       .examples = {"spillway inspect --model resnet50 --batch_size 32",
                    "spillway inspect --model resnet50 --memory --lms v1"},
       .common_flags = {"--model", "--batch_size", "--graph", "--memory",
                        "--device_memory", "--lms", "--out", "--dot", "--json",
                        "--help_all"}},
      {.name = "launch",
       .summary = "Start several ranks of a command on this machine.",
       .add = Add<LaunchFlags, AddLaunchFlags, RunLaunch>,
       .examples = {"spillway launch -n 2 -- train --model mnist_deep --data "
                    "fashion_mnist"}},
      {.name = "manual",
       .summary = "Print the manual page, as roff.",
       .add = Add<ManualFlags, AddManualFlags, RunManual>},
      {.name = "models",
       .summary = "List the zoo: default batch, image and parameters.",
       .add = Add<ModelsFlags, AddModelsFlags, RunModels>},
      {.name = "pack",
       .summary =
           "Place buffers of known lifetimes in as few bytes as possible.",
       .add = Add<PackFlags, AddPackFlags, RunPack>,
       .examples = {"spillway pack --csv buffers.csv --capacity 1MiB --out "
                    "offsets.csv"}},
      {.name = "profile",
       .summary =
           "Measure this machine, and a graph's kernels, for predicted times.",
       .add = Add<ProfileFlags, AddProfileFlags, RunProfile>,
       .examples = {"spillway profile --model resnet50 --batch_size 16"},
       .common_flags = {"--model", "--batch_size", "--graph", "--precision",
                        "--device", "--threads", "--link_gbps", "--num_batches",
                        "--out", "--json", "--help_all"}},
      {.name = "run",
       .summary = "Run one step of a graph file.",
       .add = Add<RunFlags, AddRunFlags, RunRun>,
       .examples = {"spillway run --graph step.json --feed feeds.safetensors "
                    "--fetch loss:0"},
       .common_flags = {"--graph", "--feed", "--fetch", "--out", "--device",
                        "--device_memory", "--lms", "--plan", "--json",
                        "--help_all"}},
      {.name = "simulate",
       .summary =
           "Predict a step's memory and time under a budget; runs nothing.",
       .add = Add<SimulateFlags, AddSimulateFlags, RunSimulate>,
       .examples = {"spillway simulate --model resnet50 --batch_size 200 "
                    "--profile p100_pcie",
                    "spillway simulate --model resnet50 --device_memory 2G "
                    "--find_max_batch"},
       .common_flags = {"--model", "--batch_size", "--graph", "--profile",
                        "--device_memory", "--lms", "--lms_recompute",
                        "--find_max_batch", "--plan", "--report", "--json",
                        "--help_all"}},
      {.name = "train",
       .summary = "Train a model of the zoo on real data.",
       .add = Add<TrainFlags, AddTrainFlags, RunTrain>,
       .examples = {"spillway train --model mnist_deep --data fashion_mnist",
                    "spillway train --model mnist_deep --data fashion_mnist "
                    "--device_memory 32M --lms"},
       .common_flags = {"--model", "--data", "--data_dir", "--num_epochs",
                        "--batch_size", "--optimizer", "--learning_rate",
                        "--lr_schedule", "--device", "--device_memory", "--lms",
                        "--lms_recompute", "--checkpoint", "--json",
                        "--help_all"}},
      {.name = "tune",
       .summary =
           "Choose what to swap, and when, so that a step fits; runs nothing.",
       .add = Add<TuneFlags, AddTuneFlags, RunTune>,
       .examples = {"spillway tune --model resnet50 --batch_size 64 "
                    "--profile p100_pcie --device_memory 2.5G",
                    "spillway tune --model resnet50 --batch_size 16 "
                    "--device_memory 50% --out plan.json"},
       .common_flags = {"--model", "--batch_size", "--graph", "--profile",
                        "--device_memory", "--host_memory", "--find_max_batch",
                        "--time_limit", "--out", "--report", "--json",
                        "--help_all"}},
  };
  return commands;
}

const Command* FindCommand(std::string_view name) {
  const auto found = std::ranges::find(Commands(), name, &Command::name);
  return found == Commands().end() ? nullptr : &*found;
}

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  names.reserve(Commands().size());
  for (const Command& command : Commands()) names.push_back(command.name);
  return names;
}

std::string Usage() {
  std::string text =
      "Trains neural networks that need more memory than the device has.\n"
      "Usage: spillway COMMAND [FLAGS]; spillway help COMMAND tells "
      "more.\n\n";
  for (const Command& command : Commands()) {
    text += fmt::format("  {:<12}{}\n", command.name, command.summary);
  }
  return text;
}

std::unique_ptr<CLI::App> NewApp(const Command& command) {
  auto app = std::make_unique<CLI::App>(
      command.summary, fmt::format("spillway {}", command.name));
  app->set_help_flag("-h,--help", "print examples and the common flags")
      ->group("Help");
  app->set_help_all_flag("--help_all", "print all flags")->group("Help");
  return app;
}

CommandManual Describe(const Command& command, const CLI::App& app) {
  CommandManual manual = DescribeCommand(command.name, app);
  manual.examples = command.examples;
  manual.common_flags = command.common_flags;
  return manual;
}

Advice AdviceOf(const CLI::App& app) {
  const CLI::Option* lms = app.get_option_no_throw("--lms");
  const CLI::Option* graph = app.get_option_no_throw("--graph");
  return {.may_tune = lms != nullptr &&
                      lms->get_type_name().find("auto") != std::string::npos,
          .has_batch_size = graph == nullptr || graph->count() == 0};
}

absl::Status Execute(const Command& command, const Arguments& arguments) {
  const std::unique_ptr<CLI::App> app = NewApp(command);
  absl::AnyInvocable<absl::Status()> run = command.add(*app);
  std::optional<HelpLength> help;
  SPILLWAY_RETURN_IF_ERROR(Parse(*app, arguments, help));
  if (!help) return InFlagTerms(run(), AdviceOf(*app));
  return Print(
      FormatHelp({.name = "spillway"}, Describe(command, *app), *help));
}

absl::Status Execute(const std::string& name, const Arguments& arguments) {
  if (const Command* command = FindCommand(name)) {
    return Execute(*command, arguments);
  }
  const std::vector<std::string> names = CommandNames();
  return InvalidArgument(
      fmt::format("there is no command \"{}\"{}; commands: {}", name,
                  DidYouMean(name, names), Join(names)));
}

absl::Status Execute(const Arguments& arguments) {
  if (arguments.empty()) {
    return InvalidArgument(
        fmt::format("a command is needed: {}", Join(CommandNames())));
  }
  const std::string& name = arguments.front();
  const Arguments others = {arguments.begin() + 1, arguments.end()};
  if (name == "--version") {
    return Print(fmt::format("spillway {}\n", SPILLWAY_VERSION));
  }
  if (name == "--help" || name == "-h" || name == "help") {
    if (others.empty() || others.front().starts_with("-")) {
      return Print(Usage());
    }
    return Execute(others.front(), {"--help"});
  }
  return Execute(name, others);
}

enum ExitStatus {
  kDone = 0,
  kOurError = 1,
  kBadInput = 2,
  kDoesNotFit = 3,
  kNotFinite = 4,
  kRanksDisagree = kRanksDisagreeStatus,
  kRankLate = kRankLateStatus,
  kRankLost = kRankLostStatus,
  kInterrupted = 128  // plus the number of the signal
};

int ToExitStatus(const absl::Status& status) {
  if (const std::optional<int> exact = ExitStatusOf(status)) return *exact;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kDone;
    case absl::StatusCode::kResourceExhausted:
      return kDoesNotFit;
    case absl::StatusCode::kOutOfRange:
      return kNotFinite;
    case absl::StatusCode::kCancelled:
      return kInterrupted + InterruptSignal();
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kPermissionDenied:
      return kBadInput;
    default:
      return kOurError;
  }
}

// Some libraries end with a signal if they cannot get memory for themselves, so
// check first. With a limit, threads share heaps: each of its own would map
// 64 MiB, and leave too little for the stacks of later threads.
absl::Status CheckRoomToStart() {
  if (ReadProcessMemory().free_bytes) mallopt(M_ARENA_MAX, 1);
  return CheckMayMap(32_MiB, "to start");
}

std::vector<ExitStatusManual> DescribeExitStatuses() {
  return {{kDone, "Done."},
          {kOurError, "An internal error of Spillway."},
          {kBadInput,
           "Bad usage or bad input. One line on the standard error output "
           "names the flag, file, node or field."},
          {kDoesNotFit, "The step does not fit the memory budget."},
          {kNotFinite,
           "A loss or gradient is not finite (train --check_finite, "
           "--loss_scale dynamic)."},
          {kRanksDisagree,
           "The ranks of a run do not train the same, or one has given up."},
          {kRankLate, "A rank was late (--comm_timeout)."},
          {kRankLost, "A rank was lost (launch: a signal has ended it)."},
          {kInterrupted + SIGINT, "Interrupted (Ctrl-C)."},
          {kInterrupted + SIGTERM, "Terminated (SIGTERM)."}};
}

// Turns the standard library's exceptions for refused memory or threads into a
// Status.
absl::Status ExecuteWithinLimits(const Arguments& arguments) {
  try {
    SPILLWAY_RETURN_IF_ERROR(CheckRoomToStart());
    return Execute(arguments);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("this process may not have more memory");
  } catch (const std::system_error& error) {
    return ResourceExhausted(
        fmt::format("no thread can be started: {}", error.what()));
  }
}

// Replaces closed standard streams such that writing to them fails: otherwise
// the next opened file would receive that output.
void OccupyStandardStreams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

ProgramManual DescribeProgram() {
  ProgramManual program = {
      .name = "spillway",
      .version = SPILLWAY_VERSION,
      .summary =
          "trains neural networks that need more memory than the device has",
      .flags = {{.name = "--help", .help = "List the commands."},
                {.name = "--version", .help = "Print the version."}},
      .exit_statuses = DescribeExitStatuses()};
  for (const Command& command : Commands()) {
    const std::unique_ptr<CLI::App> app = NewApp(command);
    const auto run = command.add(*app);  // owns the variables of the flags
    program.commands.push_back(Describe(command, *app));
  }
  program.commands.push_back(
      {.name = "help",
       .summary = "Print the flags of a command, or the list of commands.",
       .arguments = {{.name = "command",
                      .value = "COMMAND",
                      .offers = {.words = CommandNames()}}}});
  return program;
}

int RunCommandLine(const std::vector<std::string>& arguments) {
  OccupyStandardStreams();
  ConfigureLog(spdlog::level::info);
  const absl::Status status = ExecuteWithinLimits(arguments);
  if (!status.ok()) ReportError(status);
  return ToExitStatus(status);
}

}  // namespace spillway
