#include "tools/spillway/command/bench_command.h"

#include <utility>

#include "base/status_macros.h"
#include "benchmarks/cnn_throughput.h"
#include "fmt/format.h"
#include "tools/spillway/command/bench_setup.h"
#include "tools/spillway/flags/lms_flags.h"
#include "tools/spillway/interrupt.h"
#include "tools/spillway/output/bench_report.h"
#include "tools/spillway/output/bench_timelines.h"
#include "tools/spillway/output/progress.h"
#include "training/checkpoint.h"

namespace spillway {
namespace {

// Finds contradictory flags before any graph is built.
absl::Status CheckFlags(const BenchFlags& flags) {
  if (flags.num_epochs) {
    return InvalidArgument(
        "--num_epochs: synthetic images have no epochs; use --num_batches");
  }
  if (flags.forward_only && !flags.optimizer_flag.empty()) {
    return InvalidArgument(
        fmt::format("--forward_only excludes {}: a forward step has no update",
                    flags.optimizer_flag));
  }
  if (flags.forward_only && flags.step.lms.mode == LmsMode::kV1) {
    return InvalidArgument(
        "--forward_only excludes --lms v1: a forward step has no backward "
        "phase; v2 needs none");
  }
  if (flags.forward_only && Recomputes(flags.step.lms)) {
    return InvalidArgument(
        "--forward_only excludes --lms_recompute: a forward step has no "
        "backward phase");
  }
  return CheckBenchCompatFlags(flags.compat);
}

void AddLoopFlags(FlagSet& set, BenchFlags& flags) {
  constexpr int64_t kMost = 1'000'000'000;
  set.BeginGroup("Measurement");
  CLI::Option* num_batches =
      set.Int("--num_batches", flags.num_batches,
              {.help = "timed steps; default 100", .min = 1, .max = kMost});
  set.Real("--num_epochs", flags.num_epochs,
           {.help = "refused: synthetic images have no epochs"})
      ->excludes(num_batches);
  set.Int("--num_warmup_batches", flags.num_warmup_batches,
          {.help = "steps before these; default 10", .max = kMost});
  set.Int(
      "--display_every", flags.display_every,
      {.help = "steps between two lines; default 10", .min = 1, .max = kMost});
  set.Real("--display_perf_ewma", flags.display_perf_ewma,
           {.help = "weigh step times by (1 - X)^age in the speed shown; "
                    "default: equal weights",
            .max = 1});
  set.Bool("--print_training_accuracy", flags.print_training_accuracy,
           "show top-1 and top-5 accuracy too");
  set.Choice("--synthetic", flags.synthetic,
             {.help = "the same images in every step (default), or fresh ones, "
                      "made between the timed steps",
              .choices = {"fixed", "fresh"}});
  set.Int("--seed", flags.seed,
          {.help = "of images, initializers and dropout; default 0"});
}

void AddSubjectFlags(FlagSet& set, BenchFlags& flags) {
  set.BeginGroup("Model");
  AddModelFlags(set, flags.model);
  NeedZooModel(
      set, flags.model,
      {set.Int("--num_classes", flags.num_classes,
               {.help = "0: the model's default", .max = 10'000'000})});
  set.Bool("--forward_only", flags.forward_only,
           "an evaluation step instead of a training step");
  for (CLI::Option* option : AddOptimizerFlags(set, flags.optimizer)) {
    option->each([&flags, option](const std::string&) {
      flags.optimizer_flag = option->get_name();
    });
  }
  DefaultDecayOf(set, flags.model, flags.optimizer);
}

// The names of some flags in tf_cnn_benchmarks.
void AddAliases(FlagSet& set, BenchFlags& flags) {
  CLI::Option* rate =
      set.Real("--init_learning_rate", flags.optimizer.learning_rate,
               {.help = "as --learning_rate"});
  rate->each([&flags, rate](const std::string&) {
    flags.optimizer_flag = rate->get_name();
  });
  set.Exclude(rate, "--learning_rate");
  set.Exclude(set.Int("--num_intra_threads", flags.step.threads,
                      {.help = "as --threads", .max = kMostThreads}),
              "--threads");
  set.Exclude(set.File("--trace_file", flags.trace, "as --trace"), "--trace");
  set.Exclude(AddLossScaleFlag(set, "--fp16_loss_scale", flags.optimizer)
                  ->description("as --loss_scale"),
              "--loss_scale");
}

ThroughputSpec MakeSpec(const BenchFlags& flags, const BenchSetup& setup) {
  ThroughputSpec spec = {.batch_size = setup.model.options.batch_size,
                         .loss = setup.model.loss.id(),
                         .num_warmup_batches = flags.num_warmup_batches,
                         .num_batches = flags.num_batches,
                         .display_every = flags.display_every,
                         .ewma_weight = flags.display_perf_ewma,
                         .fresh_images = flags.synthetic == "fresh"};
  if (flags.shows_accuracy()) {
    spec.top_1_accuracy = setup.model.accuracy.id();
    spec.top_5_accuracy = setup.model.top_5_accuracy.id();
  }
  return spec;
}

// Measures, and prints results as they arrive. A failure to print does not end
// the measurement.
absl::StatusOr<ThroughputResult> MeasureAndPrint(const BenchFlags& flags,
                                                 const StopRequest& stop,
                                                 BenchSetup& setup,
                                                 Outputs& outputs) {
  const auto print = [&outputs](const std::string& text) {
    ClearProgress();
    outputs.Print(text);
    return absl::OkStatus();
  };
  ThroughputSpec spec = MakeSpec(flags, setup);
  spec.stop = stop;
  spec.on_warm_up = [&] { return print("Running warm up\n"); };
  spec.on_warmed_up = [&] {
    return print("Done warm up\n" + FormatBenchHeader(flags));
  };
  spec.on_display = [&](const ThroughputStep& step) {
    return print(FormatBenchStep(flags, step));
  };
  spec.on_step = [warm_up = ProgressOf("warm-up"), timed = ProgressOf("step"),
                  warm_up_steps = int64_t{0}, &flags](int64_t step) mutable {
    if (step == 0) {
      warm_up.Show(++warm_up_steps, flags.num_warmup_batches);
    } else {
      timed.Show(step, flags.num_batches);
    }
  };
  spec.on_timed = [&](const ThroughputResult& timed) {
    absl::Status printed = print(FormatBenchTotal(flags, timed));
    outputs.WriteWith("--checkpoint", [&](const std::string& path) {
      return SaveCheckpoint(*setup.session, path);
    });
    return printed;
  };
  SPILLWAY_RETURN_IF_ERROR(
      PrintText(flags.result, FormatBenchInfo(flags, setup)));
  return MeasureThroughput(spec, *setup.session, *setup.feeds);
}

}  // namespace

void AddBenchFlags(FlagSet& set, BenchFlags& flags) {
  AddSubjectFlags(set, flags);
  AddLoopFlags(set, flags);
  AddDeviceFlags(set, flags.step);
  AddLinkFlag(set, flags.step);
  AddCudaGraphFlag(set, flags.step);
  AddMemoryFlags(set, flags.step);
  AddPlaceFlag(set, flags.place);
  AddCheckMemoryFlag(set, flags.step);
  AddLmsFlags(set, flags.step.lms);
  AddPlanFlag(set, flags.plan);
  set.AtEnd([&flags] {
    if (flags.compat.use_fp16) flags.model.precision = "fp16";
  });
  SharePrecision(set, flags.model, flags.step);
  set.BeginGroup("Files");
  AddProfileFlag(set, flags.step,
                 "device profile for predicting the step's time; default: what "
                 "spillway profile measured here, else assumed rates");
  set.File("--checkpoint", flags.checkpoint,
           "write all variables, as they are after the timed steps, to this "
           "safetensors file");
  set.File("--trace", flags.trace,
           "write the measured timeline of one more step as Chrome trace "
           "JSON, next to the predicted one");
  set.File("--report", flags.report,
           "write prediction and measurement as an HTML page (one file)");
  AddResultFlags(set, flags.result);
  AddBenchCompatFlags(set, flags.compat);
  AddAliases(set, flags);
}

absl::Status RunBench(const BenchFlags& flags) {
  SPILLWAY_RETURN_IF_ERROR(CheckFlags(flags));
  Outputs outputs(flags.result, {{"--checkpoint", flags.checkpoint},
                                 {"--trace", flags.trace},
                                 {"--report", flags.report}});
  SPILLWAY_RETURN_IF_ERROR(outputs.Check());
  SPILLWAY_ASSIGN_OR_RETURN(BenchSetup setup, SetUpBench(flags));
  const Interrupts interrupts("step");
  SPILLWAY_ASSIGN_OR_RETURN(
      const ThroughputResult result,
      MeasureAndPrint(flags, interrupts.stop(), setup, outputs));
  outputs.Print(FormatBenchEnd(setup, result));
  outputs.WriteJson(BenchJson(flags, setup, result));
  WriteTimelines(flags, setup, result, outputs);
  if (!result.interrupted) return outputs.Finish();
  return outputs.Finish(InterruptedStatus(FormatBenchDone(flags, result)));
}

}  // namespace spillway
