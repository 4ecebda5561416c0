#include "tools/spillway/command/profile_command.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "benchmarks/synthetic_feeds.h"
#include "fmt/format.h"
#include "simulator/device_profile.h"
#include "simulator/op_shares.h"
#include "tools/spillway/interrupt.h"
#include "tools/spillway/output/op_table.h"
#include "tools/spillway/output/progress.h"
#include "tools/spillway/output/result_json.h"
#include "tuner/profile/measure_profile.h"
#include "tuner/profile/resolve_profile.h"

namespace spillway {
namespace {

// The file to write. Creates its folder.
absl::StatusOr<std::string> OutPath(const ProfileFlags& flags) {
  if (!flags.out.empty()) return flags.out;
  SPILLWAY_ASSIGN_OR_RETURN(const std::string path,
                            CachedProfilePath(flags.step));
  if (path.empty()) {
    return InvalidArgument(
        "--out: required if neither XDG_CACHE_HOME nor HOME is set");
  }
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(),
                                      error);
  if (error) {
    return FailedPrecondition(fmt::format(
        "--out: cannot make the folder of {}: {}", path, error.message()));
  }
  return path;
}

// The profile that the file already holds; nullopt if the file does not exist
// or is a device or pipe, which may have no end.
absl::StatusOr<std::optional<DeviceProfile>> ReadOld(const std::string& path,
                                                     const StepOptions& step) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  absl::StatusOr<DeviceProfile> old = ReadDeviceProfile(path);
  if (!old.ok()) return Annotate(old.status(), "--out");
  SPILLWAY_ASSIGN_OR_RETURN(const std::string device, DescribeDevice(step));
  const absl::Status same = CheckSameDevice(*old, device, path);
  if (!same.ok()) return Annotate(same, "--out");
  return *std::move(old);
}

// What was measured, and where the time of the graph's step goes.
struct Measurement {
  MeasuredProfile measured = {};
  std::optional<StepShares> shares = {};  // nullopt: there was no graph
};

absl::StatusOr<Measurement> MeasureMachine(
    const StepOptions& step, const ProfileMeasurement& measurement) {
  SPILLWAY_ASSIGN_OR_RETURN(MeasuredProfile measured,
                            MeasureProfileAndKernels(step, measurement));
  return Measurement{.measured = std::move(measured)};
}

absl::StatusOr<Measurement> MeasureStep(const ProfileFlags& flags,
                                        ProfileMeasurement measurement) {
  SPILLWAY_RETURN_IF_ERROR(CheckPrecision(flags.source.model, flags.step));
  SPILLWAY_ASSIGN_OR_RETURN(const SourceGraph source,
                            LoadGraph(flags.source, flags.step));
  const Program program = ProgramOf(source);
  measurement.program = &program;
  std::optional<SyntheticFeeds> images;
  Feeds feeds;
  if (source.model) {
    images.emplace(source.graph, *source.model, 0);
    feeds = images->feeds();
    measurement.feeds = &feeds;
  }
  SPILLWAY_ASSIGN_OR_RETURN(Measurement result,
                            MeasureMachine(flags.step, measurement));
  result.shares = SharesOfOps(program.graph, *flags.step.ops, program.fetches,
                              result.measured.profile);
  return result;
}

// CANCELLED if `stop` returned true.
absl::StatusOr<Measurement> Measure(const ProfileFlags& flags,
                                    const StopRequest& stop) {
  ProfileMeasurement measurement = {
      .repeats = flags.num_batches,
      .steps = flags.num_batches,
      .warmup_steps = flags.num_warmup_batches,
      .on_progress =
          [shown = ProgressOf("")](std::string_view part, int64_t done,
                                   int64_t total) mutable {
            if (shown.part() != part) shown = ProgressOf(std::string(part));
            shown.Show(done, total);
          },
      .stop = stop};
  const bool has_graph =
      flags.source.model.is_given() || !flags.source.graph.empty();
  return has_graph ? MeasureStep(flags, std::move(measurement))
                   : MeasureMachine(flags.step, measurement);
}

std::string FormatLink(const LinkDirection& link) {
  return fmt::format("{:.2f} GB/s, {:.2f} during the other; {} in {}",
                     link.bytes_per_second * 1e-9,
                     link.shared_bytes_per_second * 1e-9,
                     Counted(link.by_size.front().bytes, "byte"),
                     FormatDuration(link.by_size.front().alone_ns));
}

std::string FormatFlops(const DeviceProfile& profile) {
  std::string text;
  for (const auto& [dtype, rate] : profile.flops_per_second) {
    text += fmt::format("{}{} {:.1f}", text.empty() ? "" : ", ",
                        std::string(DTypeName(dtype)), rate * 1e-9);
  }
  return text;
}

// Counts the kinds of kernel with an algorithm that is faster than the first.
size_t FasterThanFirst(const DeviceProfile& profile) {
  return static_cast<size_t>(
      std::ranges::count_if(profile.algorithms, [&](const auto& of_signature) {
        const auto first = profile.kernels.find(of_signature.first);
        if (first == profile.kernels.end()) return false;
        return std::ranges::any_of(of_signature.second, [&](const auto& each) {
          return each.second.ns < first->second;
        });
      }));
}

std::string FormatProfile(const Measurement& measurement,
                          const std::string& path) {
  const DeviceProfile& profile = measurement.measured.profile;
  const std::optional<MeasuredKernels>& kernels = measurement.measured.kernels;
  std::string text = fmt::format(
      "device       {}\n"
      "to host      {}\n"
      "to device    {}\n"
      "memory       {:.2f} GB/s\n"
      "gflops       {}\n"
      "host         {} to issue a step, {} to wake a lane\n"
      "copies cost  {:.3f} ns of a kernel a byte\n",
      profile.name, FormatLink(profile.to_host), FormatLink(profile.to_device),
      profile.memory_bytes_per_second * 1e-9, FormatFlops(profile),
      FormatDuration(profile.issue_ns), FormatDuration(profile.wake_ns),
      profile.kernel_ns_per_copied_byte);
  if (kernels) {
    text += fmt::format("step         {}, {} of kernel measured\n",
                        FormatDuration(kernels->step_ns),
                        Counted(kernels->kernel_ns.size(), "kind"));
  }
  if (measurement.shares) text += FormatShares(*measurement.shares);
  if (!profile.algorithms.empty()) {
    text += fmt::format(
        "algorithms   of {} of kernel, {} of them faster than the first\n",
        Counted(profile.algorithms.size(), "kind"), FasterThanFirst(profile));
  }
  return text + fmt::format("profile      {}, {} of kernel\n", path,
                            Counted(profile.kernels.size(), "kind"));
}

Json ToJson(const Measurement& measurement, const std::string& path) {
  const DeviceProfile& profile = measurement.measured.profile;
  const std::optional<MeasuredKernels>& kernels = measurement.measured.kernels;
  Json json = {{"device", profile.name},
               {"out", path},
               {"kernels", profile.kernels.size()},
               {"measured_kernels", 0},
               {"step_ms", nullptr},
               {"memory_bytes_per_second", profile.memory_bytes_per_second},
               {"flops_per_second", Json::object()},
               {"ops", Json::array()}};
  for (const auto& [dtype, rate] : profile.flops_per_second) {
    json["flops_per_second"][std::string(DTypeName(dtype))] = rate;
  }
  if (kernels) {
    json["measured_kernels"] = kernels->kernel_ns.size();
    json["step_ms"] = Milliseconds(kernels->step_ns);
  }
  if (measurement.shares) json["ops"] = SharesJson(*measurement.shares);
  return json;
}

}  // namespace

void AddProfileFlags(FlagSet& set, ProfileFlags& flags) {
  AddGraphSourceFlags(set, flags.source);
  AddDeviceFlags(set, flags.step);
  SharePrecision(set, flags.source.model, flags.step);
  AddLinkFlag(set, flags.step);
  set.BeginGroup("Measurement");
  set.Int(
      "--num_batches", flags.num_batches,
      {.help = "steps of the graph that are timed, and times that the machine "
               "is measured; default 20",
       .min = 1,
       .max = 1'000'000});
  set.Int("--num_warmup_batches", flags.num_warmup_batches,
          {.help = "steps before these; default 3", .max = 1'000'000});
  set.BeginGroup("Files");
  set.File("--out", flags.out,
           "write the profile to this file, or add to it; default: the file "
           "that the other commands use");
  AddResultFlags(set, flags.result);
}

absl::Status RunProfile(const ProfileFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::string path, OutPath(flags));
  Outputs outputs(flags.result, {{"--out", path}});
  SPILLWAY_RETURN_IF_ERROR(outputs.Check());
  SPILLWAY_ASSIGN_OR_RETURN(std::optional<DeviceProfile> old,
                            ReadOld(path, flags.step));
  const Interrupts interrupts("measurement");
  absl::StatusOr<Measurement> measured = Measure(flags, interrupts.stop());
  ClearProgress();
  if (absl::IsCancelled(measured.status())) {
    return InterruptedStatus(fmt::format(
        "before everything was measured; nothing was written to {}", path));
  }
  SPILLWAY_RETURN_IF_ERROR(measured.status());
  DeviceProfile& profile = measured->measured.profile;
  if (old) KeepKernels(*std::move(old), profile);
  SPILLWAY_ASSIGN_OR_RETURN(const std::string text, ReadableText(profile));
  outputs.Print(FormatProfile(*measured, path));
  outputs.WriteJson(ToJson(*measured, path));
  outputs.Write("--out", [&] { return text; });
  return outputs.Finish();
}

}  // namespace spillway
