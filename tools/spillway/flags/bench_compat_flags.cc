#include "tools/spillway/flags/bench_compat_flags.h"

#include <string_view>

#include "base/log.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {
namespace {

absl::Status CheckData(const BenchCompatFlags& flags) {
  if (!flags.data_dir.empty()) {
    return InvalidArgument(
        "--data_dir: is not supported, since the images are synthetic; "
        "spillway train reads real ones");
  }
  if (flags.data_name == "imagenet" || flags.data_name == "synthetic") {
    return absl::OkStatus();
  }
  return InvalidArgument(fmt::format(
      "--data_name: \"{}\" is not one of imagenet, synthetic; both mean "
      "synthetic images in the size of the model or of --image_size",
      flags.data_name));
}

absl::Status CheckLayout(const BenchCompatFlags& flags) {
  if (flags.data_format == "NHWC") return absl::OkStatus();
  if (flags.data_format == "NCHW") {
    return InvalidArgument(
        "--data_format: \"NCHW\" is not supported, since all kernels read and "
        "write NHWC; use NHWC");
  }
  return InvalidArgument(fmt::format(
      "--data_format: \"{}\" is no layout; use NHWC", flags.data_format));
}

absl::Status CheckDevices(const BenchCompatFlags& flags) {
  const std::string_view update = flags.variable_update;
  if (!update.empty() && update != "parameter_server" &&
      update != "replicated") {
    return InvalidArgument(
        fmt::format("--variable_update: \"{}\" is not one of parameter_server, "
                    "replicated; both mean the same on one device",
                    update));
  }
  const std::string_view parameters = flags.local_parameter_device;
  if (!parameters.empty() && parameters != "cpu" && parameters != "gpu") {
    return InvalidArgument(fmt::format(
        "--local_parameter_device: \"{}\" is not one of cpu, gpu", parameters));
  }
  if (flags.num_gpus == 1) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "--num_gpus: {} is not supported, since bench runs on one device; use 1",
      flags.num_gpus));
}

absl::Status CheckOutputs(const BenchCompatFlags& flags) {
  if (!flags.train_dir.empty()) {
    return InvalidArgument(
        "--train_dir: is not supported; use --checkpoint FILE, which receives "
        "the variables after the timed steps");
  }
  if (flags.summary_verbosity > 0) {
    return InvalidArgument(
        "--summary_verbosity: is not supported, since there are no summaries; "
        "use --report FILE for a page of memory and time, --json FILE for all "
        "numbers");
  }
  return absl::OkStatus();
}

absl::Status CheckSwitches(const BenchCompatFlags& flags) {
  if (flags.xla || flags.xla_compile) {
    return InvalidArgument(fmt::format(
        "{}: is not supported, since there is no XLA here; use false",
        flags.xla ? "--xla" : "--xla_compile"));
  }
  if (!flags.nodistortions) {
    return InvalidArgument(
        "--nodistortions: \"false\" is not supported, since synthetic images "
        "are not distorted; use true");
  }
  if (flags.eval) {
    return InvalidArgument(
        "--eval: is not supported, since the images are synthetic; spillway "
        "train evaluates after each epoch");
  }
  return absl::OkStatus();
}

void NoteWithoutEffect(std::string_view flag, const std::string& value) {
  if (value.empty()) return;
  spdlog::info(fmt::format("{} {} has no effect with one device", flag, value));
}

}  // namespace

void AddBenchCompatFlags(FlagSet& set, BenchCompatFlags& flags) {
  set.BeginGroup("For command lines of tf_cnn_benchmarks");
  set.Text("--data_name", flags.data_name, "imagenet or synthetic");
  set.Folder("--data_dir", flags.data_dir, "refused: the images are synthetic");
  set.Text("--data_format", flags.data_format, "NHWC");
  set.Int("--num_gpus", flags.num_gpus, {.help = "1"});
  set.Text("--variable_update", flags.variable_update,
           "parameter_server or replicated; no effect with one device");
  set.Text("--local_parameter_device", flags.local_parameter_device,
           "cpu or gpu; no effect with one device");
  set.Bool("--use_fp16", flags.use_fp16, "--precision fp16");
  set.Bool("--nodistortions", flags.nodistortions, "true");
  set.Int("--summary_verbosity", flags.summary_verbosity,
          {.help = "0: no summaries", .max = 3});
  set.Folder("--train_dir", flags.train_dir, "refused: use --checkpoint");
  set.Bool("--xla", flags.xla, "false");
  set.Bool("--xla_compile", flags.xla_compile, "false");
  set.Bool("--eval", flags.eval, "false");
}

absl::Status CheckBenchCompatFlags(const BenchCompatFlags& flags) {
  SPILLWAY_RETURN_IF_ERROR(CheckData(flags));
  SPILLWAY_RETURN_IF_ERROR(CheckLayout(flags));
  SPILLWAY_RETURN_IF_ERROR(CheckDevices(flags));
  SPILLWAY_RETURN_IF_ERROR(CheckOutputs(flags));
  SPILLWAY_RETURN_IF_ERROR(CheckSwitches(flags));
  NoteWithoutEffect("--variable_update", flags.variable_update);
  NoteWithoutEffect("--local_parameter_device", flags.local_parameter_device);
  return absl::OkStatus();
}

}  // namespace spillway
