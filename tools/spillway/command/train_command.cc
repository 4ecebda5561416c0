#include "tools/spillway/command/train_command.h"

#include <memory>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/trace/timeline.h"
#include "fmt/format.h"
#include "onnx_model/export.h"
#include "tools/spillway/command/train_group.h"
#include "tools/spillway/command/train_report.h"
#include "tools/spillway/command/train_setup.h"
#include "tools/spillway/command/train_workers.h"
#include "tools/spillway/flags/lms_flags.h"
#include "tools/spillway/interrupt.h"
#include "tools/spillway/output/progress.h"
#include "training/checkpoint.h"
#include "training/loop/micro_batch_reader.h"
#include "training/trainer.h"
#include "training/workers/synchronize.h"
#include "tuner/choose_step.h"

namespace spillway {
namespace {

void CheckLargeBatchFlags(FlagSet& set, const OptimizerFlags& optimizer) {
  set.AtEnd([&set, &optimizer] {
    if (optimizer.optimizer == "lbsgd") return;
    for (const char* name :
         {"--batch_scale", "--macrobatch_size", "--warmup_strategy",
          "--warmup_epochs", "--updates_per_epoch"}) {
      if (set.IsGiven(name)) {
        Refuse(fmt::format("{} needs --optimizer lbsgd", name));
      }
    }
  });
}

void AddStateFlags(FlagSet& set, TrainFlags& flags) {
  set.BeginGroup("Files");
  CLI::Option* checkpoint =
      set.File("--checkpoint", flags.checkpoint,
               "write the state of the training to this safetensors file at "
               "the end");
  set.Int("--checkpoint_every", flags.checkpoint_every,
          {.help = "and after every so many updates", .min = 1})
      ->needs(checkpoint);
  set.Int("--keep_checkpoints", flags.keep_checkpoints,
          {.help = "files to keep: FILE, FILE.1, FILE.2, ... from the newest; "
                   "default 1",
           .min = 1,
           .max = 1000})
      ->needs(checkpoint);
  CLI::Option* resume =
      set.File("--resume", flags.resume,
               "go on from this checkpoint, bitwise as if the training had not "
               "stopped; auto: from the newest whole one of --checkpoint, or "
               "from the beginning if there is none");
  set.File("--restore", flags.restore,
           "start with the variables of such a file, and nothing else of it")
      ->excludes(resume);
  set.AtEnd([&flags] {
    if (flags.resume == "auto" && flags.checkpoint.empty()) {
      Refuse("--resume auto needs --checkpoint");
    }
  });
}

std::optional<uint64_t> ShuffleSeed(const TrainFlags& flags) {
  if (flags.loop.shuffle == "none") return std::nullopt;
  return static_cast<uint64_t>(flags.seed);
}

// What is done already: nothing without a checkpoint. Errors name --resume.
absl::StatusOr<TrainingState> Resume(const TrainFlags& flags,
                                     const TrainSetup& setup) {
  if (flags.resume.empty()) return TrainingState();
  std::string path = flags.resume;
  if (path == "auto") {
    const std::optional<std::string> newest =
        NewestCheckpoint(flags.checkpoint);
    if (!newest) {
      spdlog::info("--resume: there is no checkpoint yet; from the beginning");
      return TrainingState();
    }
    path = *newest;
  }
  const auto state = LoadCheckpoint(path, *setup.session);
  if (!state.ok()) return Annotate(state.status(), "--resume");
  const auto refuse = [&path](const std::string& reason) {
    return InvalidArgument(fmt::format("--resume: {}: {}", path, reason));
  };
  if (!*state) {
    return refuse("says nothing of a training; --restore takes its variables");
  }
  const std::string rows = DescribeRows(*setup.loop->plan, ShuffleSeed(flags));
  if ((*state)->rows != rows) {
    return refuse(fmt::format(
        "the training that it is of has read {}; this one would read {}",
        (*state)->rows, rows));
  }
  if ((*state)->updates > setup.loop->num_updates) {
    return refuse(
        fmt::format("has done {} updates, more than the {} of this "
                    "training",
                    (*state)->updates, setup.loop->num_updates));
  }
  spdlog::info("--resume: from {}, after update {} of {}", path,
               (*state)->updates, setup.loop->num_updates);
  return **state;
}

// The lines of SystemML at its intervals, and snapshots.
class Intervals {
 public:
  Intervals(const TrainFlags& flags, const TrainSetup& setup, Outputs& outputs)
      : flags_(flags), setup_(setup), outputs_(outputs) {}

  // Errors are kept until the end: a callback returns none.
  void Show(const StepProgress& progress) {
    for (size_t i = 0; i < progress.micro_losses.size(); ++i) {
      const int64_t micro =
          progress.first_micro_batch + static_cast<int64_t>(i);
      if (!Crosses(flags_.loop.display, micro, micro + 1)) continue;
      ClearProgress();
      outputs_.Print(FormatIteration(
          micro + 1, "training", progress.micro_losses[i],
          i < progress.micro_accuracies.size() ? progress.micro_accuracies[i]
                                               : 0));
    }
    const int64_t done = progress.first_micro_batch +
                         static_cast<int64_t>(progress.micro_losses.size());
    if (!Crosses(flags_.loop.snapshot, progress.first_micro_batch, done)) {
      return;
    }
    const std::string path = fmt::format("{}_iter_{}.safetensors",
                                         flags_.loop.snapshot_prefix, done);
    status_.Update(Annotate(
        SaveCheckpoint(*setup_.session, path, progress.after), "--snapshot"));
  }

  const absl::Status& status() const { return status_; }

 private:
  const TrainFlags& flags_;
  const TrainSetup& setup_;
  Outputs& outputs_;
  absl::Status status_;
};

// Saves checkpoints during the training. One that cannot be written is no
// reason to end it.
class Checkpoints {
 public:
  Checkpoints(const TrainFlags& flags, const TrainSetup& setup,
              TrainingState start)
      : flags_(flags), setup_(setup), state_(std::move(start)) {}

  // What the session has now.
  void SetState(const TrainingState& state) {
    state_ = state;
    is_saved_ = false;
    const int64_t every = flags_.checkpoint_every;
    const bool is_due = every != 0 && state.updates % every == 0;
    if (!is_due || flags_.checkpoint.empty()) return;
    const absl::Status status = Save(flags_.checkpoint);
    if (!status.ok()) {
      spdlog::warn("--checkpoint: {}; the training goes on",
                   std::string(status.message()));
    }
  }

  // Whether the file of --checkpoint has the state that the session has.
  bool is_saved() const { return is_saved_; }

  absl::Status Save(const std::string& path) {
    SPILLWAY_RETURN_IF_ERROR(RotateCheckpoint(*setup_.session, path, state_,
                                              flags_.keep_checkpoints));
    is_saved_ = true;
    return absl::OkStatus();
  }

 private:
  const TrainFlags& flags_;
  const TrainSetup& setup_;
  TrainingState state_;
  bool is_saved_ = false;
};

// Trains, and prints results as they arrive.
absl::StatusOr<TrainResult> TrainAndReport(const TrainFlags& flags,
                                           const TrainSetup& setup,
                                           const TrainingState& start,
                                           const StopRequest& stop,
                                           Checkpoints& checkpoints,
                                           Outputs& outputs) {
  if (RankOf(setup.spec.communicator) == 0) {
    SPILLWAY_RETURN_IF_ERROR(PrintText(flags.result, FormatStart(setup)));
  }
  const TrainLoop& loop = *setup.loop;
  TrainResult result;
  TrainerSpec spec = setup.spec;
  spec.test_data = loop.test_data();
  if (loop.validation) {
    spec.validation_data = &*loop.validation;
    spec.validation_interval = flags.loop.test_interval;
  }
  spec.length = {.updates = loop.num_updates};
  spec.start = start;
  spec.learning_rate = loop.rate;
  spec.shuffle = ShuffleSeed(flags).has_value();
  spec.shuffle_seed = ShuffleSeed(flags).value_or(0);
  spec.check_finite = flags.loop.check_finite;
  spec.follows_loss_scale = flags.optimizer.loss_scale.is_dynamic;
  spec.stop = stop;
  const bool is_traced = !flags.trace.empty() || setup.spec.communicator;
  spec.last_step = is_traced ? &result.last_step : nullptr;
  ProgressOf steps("step");
  Intervals intervals(flags, setup, outputs);
  spec.on_step = [&](StepProgress& progress) {
    result.losses.push_back(progress.loss);
    result.learning_rates.push_back(loop.rate ? progress.learning_rate
                                              : loop.base_rate);
    steps.Show(progress.update + 1, progress.num_updates,
               fmt::format("epoch {}/{}, loss {:.4f}", progress.epoch + 1,
                           loop.num_epochs(), progress.loss));
    intervals.Show(progress);
    progress.stop = !intervals.status().ok();
  };
  // On all ranks: they give rank 0 what only they have.
  spec.checkpoint_updates =
      flags.checkpoint_every > 0 ? flags.checkpoint_every : loop.num_updates;
  spec.on_checkpoint = [&](const TrainingState& state) {
    checkpoints.SetState(state);
    return absl::OkStatus();
  };
  spec.on_epoch = [&](const EpochResult& epoch) {
    ClearProgress();
    outputs.Print(FormatEpoch(epoch));
  };
  spec.on_validation = [&](const ValidationResult& validation) {
    ClearProgress();
    outputs.Print(FormatIteration(validation.micro_batches, "validation",
                                  validation.evaluation.loss.value_or(0),
                                  validation.evaluation.accuracy));
  };
  const int64_t steps_before = setup.session->step_numbers()[0];
  SPILLWAY_ASSIGN_OR_RETURN(result.epochs, Train(*setup.session, spec));
  result.swap_steps = setup.session->step_numbers()[0] - steps_before;
  SPILLWAY_RETURN_IF_ERROR(intervals.status());
  ClearProgress();
  if (result.interrupted()) outputs.Print(FormatEpoch(result.epochs.back()));
  SPILLWAY_ASSIGN_OR_RETURN(const auto variables,
                            setup.session->ReadVariables());
  result.checksum = Checksum(variables);
  return result;
}

}  // namespace

namespace {

// A model of an ONNX file has other data and other defaults.
void AddOnnxTrainFlags(FlagSet& set, TrainFlags& flags) {
  const std::vector<CLI::Option*> of_onnx = {
      set.File("--data_file", flags.data_file,
               "with --onnx: safetensors file with the model's inputs and the "
               "target, by name; their first dimension is the number of "
               "samples"),
      set.Text("--target", flags.target,
               "tensor of it that is the target; default labels, or targets of "
               "losses on reals"),
      set.File("--export_onnx", flags.export_onnx,
               "write the model with the trained weights to this ONNX file"),
      set.Choice(
          "--export_mode", flags.export_mode,
          {.help = "its BatchNormalization nodes: as they were (default), "
                   "or for inference",
           .choices = {"model", "inference"}}),
      set.File("--export_weights", flags.export_weights,
               "write the weights under the initializers' names to this "
               "safetensors file")};
  set.AtEnd([&set, &flags, of_onnx] {
    if (!flags.model.is_given()) Refuse("one of --model and --onnx is needed");
    if (!flags.model.onnx.is_given()) {
      for (const CLI::Option* option : of_onnx) {
        if (option->count() == 0) continue;
        Refuse(fmt::format("{} requires --onnx", option->get_name()));
      }
      if (flags.data.empty()) Refuse("--data is required");
      return;
    }
    if (flags.data_file.empty()) Refuse("--onnx needs --data_file");
    if (!set.IsGiven("--shuffle")) flags.loop.shuffle = "none";
    if (!set.IsGiven("--tail") && flags.loop.shuffle == "none") {
      flags.loop.tail = "cycle";
    }
  });
}

}  // namespace

void AddTrainFlags(FlagSet& set, TrainFlags& flags) {
  set.BeginGroup("Model and data");
  AddModelFlags(set, flags.model);
  const std::vector<CLI::Option*> of_zoo = {set.Choice(
      "--data", flags.data, {.help = "data set", .choices = DataNames()})};
  NeedZooModel(set, flags.model, of_zoo);
  set.Folder("--data_dir", flags.data_dir,
             "folder of its files: four IDX files, plain or .gz; the six .bin "
             "files of cifar10; a folder of JPEG and PNG files for each class; "
             "train.safetensors and test.safetensors. Default for "
             "fashion_mnist: that of Debian's package");
  set.Bool("--skip_corrupt", flags.skip_corrupt,
           "image_folder: another image of the class in place of one that "
           "cannot be decoded");
  AddOnnxTrainFlags(set, flags);
  set.Int("--seed", flags.seed,
          {.help = "of initializers, dropout and shuffling; default 0"});
  AddOptimizerFlags(set, flags.optimizer);
  DefaultDecayOf(set, flags.model, flags.optimizer);
  AddClipFlags(set, flags.optimizer);
  AddRateFlags(set, flags.rate);
  CheckLargeBatchFlags(set, flags.optimizer);
  AddInitializerFlags(set, flags.initializer);
  AddLoopFlags(set, flags.loop);
  AddWorkerFlags(set, flags.workers);
  AddDeviceFlags(set, flags.step);
  SharePrecision(set, flags.model, flags.step);
  AddLinkFlag(set, flags.step);
  AddCudaGraphFlag(set, flags.step);
  AddMemoryFlags(set, flags.step,
                 {.num_devices = &flags.workers.num_devices,
                  .device_budgets = &flags.device_budgets});
  AddPlaceFlag(set, flags.place);
  AddCheckMemoryFlag(set, flags.step);
  AddLmsFlags(set, flags.step.lms);
  AddPlanFlag(set, flags.plan);
  AddProfileFlag(set, flags.step, "device profile for --lms auto");
  AddStateFlags(set, flags);
  set.File("--trace", flags.trace,
           "write the measured timeline of the last step as Chrome trace "
           "JSON");
  AddResultFlags(set, flags.result);
}

namespace {

// Rank 0's outputs; those of the other ranks are empty.
TrainFlags OutputFlagsOf(const TrainFlags& flags, int rank) {
  TrainFlags own = flags;
  if (rank == 0) return own;
  own.checkpoint.clear();
  own.trace.clear();
  own.export_onnx.clear();
  own.export_weights.clear();
  own.loop.snapshot = 0;
  own.loop.display = 0;
  own.resume.clear();  // rank 0 tells
  own.restore.clear();
  return own;
}

// --json_all_ranks.
void WriteRank(const TrainFlags& flags, int rank, const Json& json,
               Outputs& outputs) {
  if (flags.workers.json_all_ranks.empty()) return;
  const std::string path =
      fmt::format("{}/rank_{}.json", flags.workers.json_all_ranks, rank);
  outputs.Keep(Annotate(WriteFileAtomically(path, FormatJson(json)),
                        "--json_all_ranks"));
}

// --export_onnx and --export_weights.
absl::Status WriteExports(const TrainFlags& flags, const TrainSetup& setup,
                          Outputs& outputs) {
  if (flags.export_onnx.empty() && flags.export_weights.empty()) {
    return absl::OkStatus();
  }
  const TrainLoop& loop = *setup.loop;
  SPILLWAY_ASSIGN_OR_RETURN(const auto values, setup.session->ReadVariables());
  outputs.WriteWith("--export_onnx", [&](const std::string& path) {
    return ExportOnnx(*loop.model.onnx, loop.onnx.variables, values, path,
                      {.for_inference = flags.export_mode == "inference"});
  });
  outputs.WriteWith("--export_weights", [&](const std::string& path) {
    return ExportOnnxWeights(loop.onnx.variables, values, path);
  });
  return absl::OkStatus();
}

// `communicator`: of all ranks and their devices; null: this is alone.
absl::Status TrainOn(const TrainFlags& given, Communicator* communicator,
                     const std::shared_ptr<const TrainLoop>& loop,
                     const StopRequest& stop) {
  const int rank = RankOf(communicator);
  TrainFlags flags = OutputFlagsOf(given, rank);
  if (communicator != nullptr && flags.step.threads == 0) {
    flags.step.threads = ThreadsOfRank(*communicator);
  }
  Outputs outputs(flags.result, {{"--checkpoint", flags.checkpoint},
                                 {"--export_onnx", flags.export_onnx},
                                 {"--export_weights", flags.export_weights},
                                 {"--trace", flags.trace}});
  if (rank > 0) outputs.Silence();
  SPILLWAY_RETURN_IF_ERROR(outputs.Check());
  SPILLWAY_ASSIGN_OR_RETURN(const TrainSetup setup,
                            SetUpTraining(flags, loop, communicator));
  SPILLWAY_ASSIGN_OR_RETURN(TrainingState start, Resume(flags, setup));
  if (communicator != nullptr) {
    SPILLWAY_ASSIGN_OR_RETURN(start, BroadcastState(start, *communicator));
  }
  if (communicator != nullptr && rank == 0) {
    WarnOfManyElements(flags.workers, *communicator);
  }
  Checkpoints checkpoints(flags, setup, start);
  SPILLWAY_ASSIGN_OR_RETURN(
      const TrainResult result,
      TrainAndReport(flags, setup, start, stop, checkpoints, outputs));
  Json ranks;
  if (communicator != nullptr) {
    SPILLWAY_ASSIGN_OR_RETURN(ranks, GatherRanks(setup, result, *communicator));
  }
  outputs.Print(FormatEnd(setup, result));
  if (communicator != nullptr) {
    outputs.Print(FormatWorkers(flags, setup, result, *communicator, ranks));
  }
  Json json = TrainJson(flags, setup, result);
  AddWorkersJson(setup, result, communicator, ranks, json);
  outputs.WriteJson(json);
  WriteRank(flags, rank, json, outputs);
  const bool is_new = result.num_steps() > 0 || flags.resume != "auto";
  if (is_new && !checkpoints.is_saved()) {
    outputs.WriteWith("--checkpoint", [&](const std::string& path) {
      return checkpoints.Save(path);
    });
  }
  SPILLWAY_RETURN_IF_ERROR(WriteExports(flags, setup, outputs));
  outputs.Write("--trace", [&] {
    return FormatChromeTrace(
        {{.name = "measured", .timeline = &result.last_step}});
  });
  return outputs.Finish(result.interrupted()
                            ? InterruptedStatus(FormatDone(setup, result))
                            : absl::OkStatus());
}

absl::Status PrintDryRun(const TrainFlags& flags, int rank,
                         const TrainLoop& loop) {
  Outputs outputs(flags.result, {});
  if (rank > 0) outputs.Silence();
  SPILLWAY_RETURN_IF_ERROR(outputs.Check());
  outputs.Print(FormatDryRun(loop));
  outputs.WriteJson(DryRunJson(loop));
  return outputs.Finish();
}

// `processes`: of the run; null: this one is alone.
absl::Status RunRank(const TrainFlags& flags, Communicator* processes) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::shared_ptr<const TrainLoop> loop,
                            SetUpLoop(flags, WorldSizeOf(processes)));
  if (flags.loop.dry_run) return PrintDryRun(flags, RankOf(processes), *loop);
  const Interrupts interrupts("step");
  if (loop->plan->devices() == 1) {
    return TrainOn(flags, processes, loop, interrupts.stop());
  }
  return TrainOnDevices(
      flags, processes, [&](const TrainFlags& own, Communicator& workers) {
        return TrainOn(own, &workers, loop, interrupts.stop());
      });
}

}  // namespace

absl::Status RunTrain(const TrainFlags& given) {
  TrainFlags flags = given;
  SPILLWAY_RETURN_IF_ERROR(TakeBuckets(flags.plan, flags.workers.exchange));
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> communicator,
                            OpenWorkers(flags.workers, flags.step.device));
  const absl::Status status = RunRank(flags, communicator.get());
  if (communicator == nullptr || status.ok() || absl::IsCancelled(status)) {
    return status;
  }
  communicator->Abort(status);  // the others need not wait for this rank
  return WithWorkerStatus(status);
}

}  // namespace spillway
