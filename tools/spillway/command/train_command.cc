#include "tools/spillway/command/train_command.h"

#include <algorithm>
#include <vector>

#include "base/counted.h"
#include "base/status_macros.h"
#include "base/trace/timeline.h"
#include "base/units.h"
#include "fmt/format.h"
#include "tools/spillway/command/train_setup.h"
#include "tools/spillway/flags/lms_flags.h"
#include "tools/spillway/interrupt.h"
#include "tools/spillway/output/progress.h"
#include "tools/spillway/output/result_json.h"
#include "tools/spillway/output/swap_text.h"
#include "training/checkpoint.h"
#include "training/trainer.h"
#include "tuner/choose_step.h"

namespace spillway {
namespace {

struct TrainResult {
  std::vector<EpochResult> epochs = {};
  std::vector<double> losses = {};  // by step
  Timeline last_step = {};
  std::string checksum = {};

  bool interrupted() const {
    return !epochs.empty() && epochs.back().interrupted;
  }
  int64_t num_steps() const { return static_cast<int64_t>(losses.size()); }
  int64_t num_complete_epochs() const {
    return std::ranges::count_if(epochs, &EpochResult::is_complete);
  }
};

int64_t StepsPerEpoch(const TrainSetup& setup) {
  return setup.training_data->size() / setup.training.options.batch_size;
}

TrainerSpec MakeTrainerSpec(const TrainFlags& flags, const TrainSetup& setup) {
  const ModelGraph& training = setup.training;
  const ModelGraph& evaluation = setup.evaluation;
  TrainerSpec spec;
  spec.training = {.batch_size = training.options.batch_size,
                   .images = training.images.id(),
                   .labels = training.labels.id(),
                   .learning_rate = setup.learning_rate,
                   .loss = training.loss.id(),
                   .accuracy = training.accuracy.id()};
  spec.training_data = setup.training_data.get();
  spec.evaluation = {.batch_size = evaluation.options.batch_size,
                     .images = evaluation.images.id(),
                     .labels = evaluation.labels.id(),
                     .correct = evaluation.correct.id()};
  spec.test_data = setup.test_data.get();
  spec.num_epochs = flags.num_epochs;
  spec.learning_rate = MakeSchedule(flags.optimizer, setup.base_rate,
                                    flags.num_epochs * StepsPerEpoch(setup));
  spec.shuffle_seed = static_cast<uint64_t>(flags.seed);
  return spec;
}

std::string FormatStart(const TrainSetup& setup) {
  const MemoryUse memory = setup.session->memory();
  return fmt::format(
      "{}, batch {}, {} an epoch, device {}: {}\n"
      "{:>5}{:>10}{:>10}{:>15}{:>9}\n",
      Counted(setup.parameters, "parameter"), setup.training.options.batch_size,
      Counted(StepsPerEpoch(setup), "step"), setup.device,
      FormatBytes(memory.predicted_device_bytes), "epoch", "loss", "accuracy",
      "test accuracy", "seconds");
}

std::string FormatEpoch(const EpochResult& epoch) {
  const std::string test_accuracy =
      epoch.test_accuracy ? fmt::format("{:.4f}", *epoch.test_accuracy) : "-";
  return fmt::format("{:>5}{:>10.4f}{:>10.4f}{:>15}{:>9.1f}\n", epoch.epoch + 1,
                     epoch.loss, epoch.accuracy.value_or(0), test_accuracy,
                     epoch.seconds);
}

// "after 12 of 18 steps, 2 of 3 epochs complete"
std::string FormatDone(const TrainFlags& flags, const TrainSetup& setup,
                       const TrainResult& result) {
  return fmt::format("after {} of {}, {} of {} complete", result.num_steps(),
                     Counted(flags.num_epochs * StepsPerEpoch(setup), "step"),
                     result.num_complete_epochs(),
                     Counted(flags.num_epochs, "epoch"));
}

std::string FormatEnd(const TrainFlags& flags, const TrainSetup& setup,
                      const TrainResult& result) {
  const MemoryUse memory = setup.session->memory();
  const std::string interruption =
      result.interrupted()
          ? fmt::format("interrupted  {}\n", FormatDone(flags, setup, result))
          : "";
  return fmt::format(
      "{}device peak  {} bytes predicted, {} measured\n"
      "host peak    {} bytes predicted, {} measured\n"
      "{}{}{}",
      interruption, memory.predicted_device_bytes, memory.measured_device_bytes,
      memory.predicted_host_bytes, memory.measured_host_bytes,
      FormatMeasuredSwaps(MeasuredSwaps(*setup.session, result.num_steps())),
      FormatClones(setup.edit.clones),
      FormatChecksum(result.checksum, setup.algorithms_digest,
                     setup.options.algorithms));
}

Json EpochsJson(const std::vector<EpochResult>& epochs) {
  Json json = Json::array();
  for (const EpochResult& epoch : epochs) {
    json.push_back({{"loss", epoch.loss},
                    {"accuracy", epoch.accuracy.value_or(0)},
                    {"test_accuracy", nullptr},
                    {"seconds", epoch.seconds},
                    {"steps", epoch.num_steps}});
    if (epoch.test_accuracy) {
      json.back()["test_accuracy"] = *epoch.test_accuracy;
    }
  }
  return json;
}

Json OptionsJson(const TrainFlags& flags, const TrainSetup& setup) {
  return {{"data", flags.data},
          {"num_epochs", flags.num_epochs},
          {"seed", flags.seed},
          {"optimizer", flags.optimizer.optimizer},
          {"learning_rate", setup.base_rate},
          {"lr_schedule", flags.optimizer.lr_schedule},
          {"weight_decay", flags.optimizer.weight_decay},
          {"loss_scale", setup.loss_scale},
          {"threads", flags.step.threads},
          {"link_gbps", flags.step.link_gbps},
          {"evaluation_batch_size", setup.evaluation.options.batch_size}};
}

Json ToJson(const TrainFlags& flags, const TrainSetup& setup,
            const TrainResult& result) {
  const MemoryUse memory = setup.session->memory();
  Json json = {
      {"model", flags.model.model},
      {"device", setup.device},
      {"precision", flags.model.precision},
      {"cuda_graph", flags.step.capture_steps},
      {"batch_size", setup.training.options.batch_size},
      {"image_size", setup.training.options.image_size},
      {"parameters", setup.parameters},
      {"interrupted", result.interrupted()},
      {"steps_done", result.num_steps()},
      {"epochs_done", result.num_complete_epochs()},
      {"epochs", EpochsJson(result.epochs)},
      {"losses", result.losses},
      {"peak_device_bytes",
       PeakJson(memory.predicted_device_bytes, memory.measured_device_bytes)},
      {"peak_host_bytes",
       PeakJson(memory.predicted_host_bytes, memory.measured_host_bytes)},
      {"device_memory", nullptr},
      {"host_memory", HostMemoryOf(setup.options)},
      {"swap", SwapJson(MeasuredSwaps(*setup.session, result.num_steps()))},
      {"recompute", ClonesJson(setup.edit.clones)},
      {"lms", LmsJson(setup.lms)},
      {"options", OptionsJson(flags, setup)},
      {"edit_ms", static_cast<double>(setup.edit.edit_ns) * 1e-6},
      {"plan_ms", static_cast<double>(setup.plan_ns) * 1e-6},
      {"device_allocations_in_steps", memory.allocations_in_steps},
      {"algorithms_digest", setup.algorithms_digest},
      {"checksum", result.checksum}};
  if (setup.options.device_memory) {
    json["device_memory"] = *setup.options.device_memory;
  }
  if (flags.step.check_memory) json["check_memory"] = true;
  return json;
}

// Trains, and prints results as they arrive.
absl::StatusOr<TrainResult> TrainAndReport(const TrainFlags& flags,
                                           const TrainSetup& setup,
                                           const StopRequest& stop,
                                           Outputs& outputs) {
  SPILLWAY_RETURN_IF_ERROR(PrintText(flags.result, FormatStart(setup)));
  TrainResult result;
  TrainerSpec spec = MakeTrainerSpec(flags, setup);
  spec.stop = stop;
  spec.last_step = flags.trace.empty() ? nullptr : &result.last_step;
  ProgressOf steps("step");
  spec.on_step = [&](const StepProgress& progress) {
    result.losses.push_back(progress.loss);
    steps.Show(result.num_steps(), flags.num_epochs * progress.steps_per_epoch,
               fmt::format("epoch {}/{}, loss {:.4f}", progress.epoch + 1,
                           flags.num_epochs, progress.loss));
  };
  spec.on_epoch = [&](const EpochResult& epoch) {
    ClearProgress();
    outputs.Print(FormatEpoch(epoch));
  };
  SPILLWAY_ASSIGN_OR_RETURN(result.epochs, Train(*setup.session, spec));
  ClearProgress();
  if (result.interrupted()) outputs.Print(FormatEpoch(result.epochs.back()));
  SPILLWAY_ASSIGN_OR_RETURN(const auto variables,
                            setup.session->ReadVariables());
  result.checksum = Checksum(variables);
  return result;
}

}  // namespace

void AddTrainFlags(FlagSet& set, TrainFlags& flags) {
  set.BeginGroup("Model and data");
  AddModelFlags(set, flags.model)->required();
  set.Choice("--data", flags.data, {.help = "data set", .choices = DataNames()})
      ->required();
  set.Folder("--data_dir", flags.data_dir,
             "folder of its files: four IDX files, plain or .gz, or the six "
             ".bin files of cifar10; default for fashion_mnist: that of "
             "Debian's package");
  set.Int("--num_epochs", flags.num_epochs,
          {.help = "default 1", .min = 1, .max = 1'000'000});
  set.Int("--seed", flags.seed,
          {.help = "of initializers, dropout and shuffling; default 0"});
  AddOptimizerFlags(set, flags.optimizer);
  AddScheduleFlag(set, flags.optimizer);
  AddDeviceFlags(set, flags.step);
  SharePrecision(set, flags.model, flags.step);
  AddLinkFlag(set, flags.step);
  AddCudaGraphFlag(set, flags.step);
  AddMemoryFlags(set, flags.step);
  AddCheckMemoryFlag(set, flags.step);
  AddLmsFlags(set, flags.step.lms);
  AddPlanFlag(set, flags.plan);
  AddProfileFlag(set, flags.step, "device profile for --lms auto");
  set.BeginGroup("Files");
  set.File("--checkpoint", flags.checkpoint,
           "write all variables to this safetensors file at the end");
  set.File("--restore", flags.restore,
           "start with the variables of such a file");
  set.File("--trace", flags.trace,
           "write the measured timeline of the last step as Chrome trace "
           "JSON");
  AddResultFlags(set, flags.result);
}

absl::Status RunTrain(const TrainFlags& flags) {
  Outputs outputs(flags.result, {{"--checkpoint", flags.checkpoint},
                                 {"--trace", flags.trace}});
  SPILLWAY_RETURN_IF_ERROR(outputs.Check());
  SPILLWAY_ASSIGN_OR_RETURN(const TrainSetup setup, SetUpTraining(flags));
  const Interrupts interrupts("step");
  SPILLWAY_ASSIGN_OR_RETURN(
      const TrainResult result,
      TrainAndReport(flags, setup, interrupts.stop(), outputs));
  outputs.Print(FormatEnd(flags, setup, result));
  outputs.WriteJson(ToJson(flags, setup, result));
  outputs.WriteWith("--checkpoint", [&](const std::string& path) {
    return SaveCheckpoint(*setup.session, path);
  });
  outputs.Write("--trace", [&] {
    return FormatChromeTrace(
        {{.name = "measured", .timeline = &result.last_step}});
  });
  return outputs.Finish(
      result.interrupted() ? InterruptedStatus(FormatDone(flags, setup, result))
                           : absl::OkStatus());
}

}  // namespace spillway
