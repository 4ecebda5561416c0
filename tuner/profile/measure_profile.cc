#include "tuner/profile/measure_profile.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status_macros.h"
#include "executor/device/free_memory.h"
#include "executor/device/registry.h"
#include "executor/kernel_registry.h"
#include "executor/session/plan_programs.h"
#include "executor/session/session.h"
#include "fmt/format.h"
#include "graph/order/schedule.h"
#include "graph/well_known_ops.h"
#include "lms/lms.h"
#include "ops/open_libraries.h"
#include "simulator/node_signature.h"
#include "spdlog/spdlog.h"
#include "tuner/profile/measure_contention.h"
#include "tuner/profile/measure_host.h"
#include "tuner/profile/measure_link.h"
#include "tuner/profile/measure_rates.h"
#include "tuner/profile/plausible_profile.h"
#include "tuner/profile/resolve_profile.h"

namespace spillway {
namespace {

// The measurements that need running kernels.
struct MeasuredGraph {
  MeasuredKernels kernels = {};  // with their first algorithms
  // By signature and name, including the first.
  decltype(DeviceProfile::algorithms) algorithms = {};
  double kernel_ns_per_copied_byte = 0;
};

// "AMD EPYC 9654"; empty if the system does not tell.
std::string ProcessorName() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "";
}

ContentionMeasurement ContentionSpec(int64_t repeats, const StopRequest& stop) {
  return {.rounds = std::clamp<int64_t>(repeats / 2, 1, 9), .stop = stop};
}

// 0 if lanes never overlap, or if copies use no core.
absl::StatusOr<double> MeasureContentionOf(const StepOptions& options,
                                           const ContentionMeasurement& spec,
                                           const Feeds& feeds,
                                           Session& session) {
  // Fast enough to have an effect, slow enough to keep up during kernels.
  constexpr double kMostGbps = 4;
  StepOptions paced = options;
  if (options.link_gbps <= 0 || options.link_gbps > kMostGbps) {
    paced.link_gbps = kMostGbps;
  }
  SPILLWAY_ASSIGN_OR_RETURN(const auto kernels, OpenWholeDevice(options));
  if (kernels->name() != "cpu") return 0;
  SPILLWAY_ASSIGN_OR_RETURN(const auto copies, OpenWholeDevice(paced));
  return MeasureContention(spec, feeds, session, *copies);
}

// Zeros for every Placeholder of a graph without given feeds.
class ZeroFeeds {
 public:
  explicit ZeroFeeds(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      if (node.op != kPlaceholder) continue;
      const TensorType& type = graph.type(graph.output(node.id));
      const auto size = static_cast<size_t>(type.num_bytes());
      const std::vector<std::byte>& zeros = zeros_.emplace_back(size);
      feeds_[graph.output(node.id)] =
          TensorView{.type = type, .data = zeros.data()};
    }
  }

  const Feeds& feeds() const { return feeds_; }

 private:
  std::vector<std::vector<std::byte>> zeros_;
  Feeds feeds_;
};

absl::StatusOr<std::unique_ptr<Session>> MakeSession(
    const Program& program, const StepOptions& options,
    const AlgorithmNames& algorithms) {
  SPILLWAY_ASSIGN_OR_RETURN(auto device, OpenWholeDevice(options));
  std::vector<Program> programs;
  programs.push_back({.graph = program.graph,
                      .fetches = program.fetches,
                      .algorithms = algorithms});
  StepOptions unlimited = options;
  unlimited.device_memory.reset();
  return Session::Create(std::move(programs), std::move(device),
                         SessionOptionsOf(unlimited));
}

// The algorithms that the kernels of a step can choose from.
absl::StatusOr<ListedAlgorithms> ListStep(const Program& program,
                                          const StepOptions& options) {
  const OpRegistry& ops = *options.ops;
  SPILLWAY_ASSIGN_OR_RETURN(const auto device, OpenWholeDevice(options));
  SPILLWAY_ASSIGN_OR_RETURN(
      const KernelMap kernels,
      PrepareKernels(program.graph, ops, *options.kernels,
                     NodesToRun(program.graph, ops, program.fetches),
                     {.kind = device->kind(),
                      .threads = ResolveThreads(options.threads),
                      .math = options.math}));
  return ListAlgorithms(program.graph, kernels);
}

// For each kernel the algorithm at one position of its list; the first if the
// list is shorter.
AlgorithmNames NamesAt(const ListedAlgorithms& listed, size_t place) {
  AlgorithmNames names(listed.size());
  for (const NodeId node : listed.ids()) {
    if (place < listed[node].size()) names[node] = listed[node][place].name;
  }
  return names;
}

size_t MostAlgorithms(const ListedAlgorithms& listed) {
  size_t most = 0;
  for (const auto& of_node : listed) most = std::max(most, of_node.size());
  return most;
}

// Adds the measurements of the algorithms at one position of the lists.
void AddAlgorithms(const Graph& graph, const ListedAlgorithms& listed,
                   size_t place, const MeasuredKernels& kernels,
                   MeasuredGraph& step) {
  for (const Node& node : graph.nodes()) {
    if (place >= listed[node.id].size()) continue;
    const std::string signature = NodeSignature(graph, node);
    const KernelAlgorithm& algorithm = listed[node.id][place];
    step.algorithms[signature][algorithm.name] = {
        .workspace_bytes = algorithm.workspace_bytes,
        .ns = kernels.kernel_ns.at(signature)};
  }
}

// `step` has the measurements of the first algorithms.
absl::Status MeasureAlgorithms(const Program& program,
                               const StepOptions& options,
                               const KernelMeasurement& spec,
                               const Feeds& feeds, MeasuredGraph& step) {
  SPILLWAY_ASSIGN_OR_RETURN(const ListedAlgorithms listed,
                            ListStep(program, options));
  AddAlgorithms(program.graph, listed, 0, step.kernels, step);
  for (size_t place = 1; place < MostAlgorithms(listed); ++place) {
    const absl::StatusOr<std::unique_ptr<Session>> session =
        MakeSession(program, options, NamesAt(listed, place));
    if (absl::IsResourceExhausted(session.status())) {
      spdlog::warn("the algorithms at position {} are not measured: {}",
                   place + 1, std::string(session.status().message()));
      continue;
    }
    SPILLWAY_RETURN_IF_ERROR(session.status());
    KernelMeasurement of_place = spec;
    of_place.part =
        fmt::format("algorithms {} of {}", place + 1, MostAlgorithms(listed));
    SPILLWAY_ASSIGN_OR_RETURN(
        const MeasuredKernels kernels,
        MeasureKernels(of_place, program.graph, feeds, **session));
    AddAlgorithms(program.graph, listed, place, kernels, step);
  }
  return absl::OkStatus();
}

// The graph with every cheap node recomputed; nullopt if none of them is
// recomputed by another op (OpDef::derive), or the graph does not train.
std::optional<Graph> WithDerivedNodes(const Graph& graph,
                                      const OpRegistry& ops) {
  const absl::StatusOr<RecomputePlan> plan = PlanRecompute(
      {.recompute = {.policy = RecomputePolicy::kCheap}}, ops, graph);
  if (!plan.ok()) return std::nullopt;
  const bool has_derived = std::ranges::any_of(
      plan->clones,
      [](const Clone& clone) { return clone.derived_output >= 0; });
  if (!has_derived) return std::nullopt;
  absl::StatusOr<Graph> recomputed = WithClones(*plan, ops, graph);
  if (!recomputed.ok()) return std::nullopt;
  return *std::move(recomputed);
}

// Adds the kernels that a step has only with recomputation. The times of the
// others stay.
absl::Status MeasureDerivedNodes(const Program& program,
                                 const StepOptions& options,
                                 KernelMeasurement spec, const Feeds& feeds,
                                 MeasuredKernels& kernels) {
  std::optional<Graph> recomputed =
      WithDerivedNodes(program.graph, *options.ops);
  if (!recomputed) return absl::OkStatus();
  const Program with_clones = {.graph = *std::move(recomputed),
                               .fetches = program.fetches};
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                            MakeSession(with_clones, options, {}));
  spec.part = "kernels of recomputation";
  SPILLWAY_ASSIGN_OR_RETURN(
      const MeasuredKernels with_derived,
      MeasureKernels(spec, with_clones.graph, feeds, *session));
  kernels.kernel_ns.insert(with_derived.kernel_ns.begin(),
                           with_derived.kernel_ns.end());
  return absl::OkStatus();
}

absl::StatusOr<DeviceProfile> MeasureDeviceOnce(
    const StepOptions& options, const ProfileMeasurement& measurement) {
  constexpr int64_t kParts = 4;
  const auto tell = [&](int64_t done) {
    measurement.on_progress("link, memory, rates", done, kParts);
  };
  DeviceProfile profile;
  tell(0);
  SPILLWAY_ASSIGN_OR_RETURN(profile.name, DescribeDevice(options));
  profile.source = fmt::format("spillway profile on {}", ProcessorName());
  SPILLWAY_ASSIGN_OR_RETURN(profile.libraries, LibrariesOf(options));
  SPILLWAY_ASSIGN_OR_RETURN(auto device, OpenWholeDevice(options));
  profile.in_turn = device->name() == "inline";
  const bool is_gpu = device->kind() == DeviceKind::kCuda;
  SPILLWAY_RETURN_IF_ERROR(OpenKernelLibraries(device->kind()));
  SPILLWAY_ASSIGN_OR_RETURN(profile.memory_bytes, device->FreeBytes());
  SPILLWAY_ASSIGN_OR_RETURN(const MachineMemory host, ReadMachineMemory());
  profile.host_memory_bytes = host.total_bytes;
  SPILLWAY_ASSIGN_OR_RETURN(const MeasuredLink link,
                            MeasureLink(*device, measurement.stop));
  profile.to_host = link.to_host;
  profile.to_device = link.to_device;
  tell(1);
  if (!profile.in_turn) {
    SPILLWAY_ASSIGN_OR_RETURN(profile.issue_ns, MeasureIssueNs(*device));
    SPILLWAY_ASSIGN_OR_RETURN(profile.wake_ns, MeasureWakeNs(*device));
  }
  tell(2);
  const RateMeasurement spec = {
      .threads = options.threads,
      .steps = std::min<int64_t>(measurement.repeats, 9),
      .math = options.math,
      .stop = measurement.stop};
  SPILLWAY_ASSIGN_OR_RETURN(auto second, OpenWholeDevice(options));
  SPILLWAY_ASSIGN_OR_RETURN(profile.call_ns,
                            MeasureCallNs(std::move(second), spec));
  tell(3);
  SPILLWAY_ASSIGN_OR_RETURN(const MeasuredRates rates,
                            MeasureRates(std::move(device), spec));
  profile.memory_bytes_per_second = rates.memory_bytes_per_second;
  profile.flops_per_second = rates.flops_per_second;
  profile.kernel_ns = rates.kernel_ns;
  if (is_gpu) {
    SPILLWAY_RETURN_IF_ERROR(OpenKernelLibraries(DeviceKind::kCpu));
    SPILLWAY_ASSIGN_OR_RETURN(auto cpu,
                              NewDevice("cpu", {.threads = options.threads}));
    SPILLWAY_ASSIGN_OR_RETURN(const MeasuredRates host_rates,
                              MeasureRates(std::move(cpu), spec));
    profile.host_memory_bytes_per_second = host_rates.memory_bytes_per_second;
    profile.host_flops_per_second =
        host_rates.flops_per_second.at(DType::kFloat32);
  }
  return profile;
}

absl::StatusOr<DeviceProfile> MeasureDevice(
    const StepOptions& options, const ProfileMeasurement& measurement) {
  const auto measure = [&] {
    return MeasurePlausibly(
        [&] { return MeasureDeviceOnce(options, measurement); });
  };
  double foreign_work = 0;
  SPILLWAY_ASSIGN_OR_RETURN(
      PlausibleProfile measured,
      MeasureAlone(measurement.cpu_clock, measure, foreign_work));
  for (const std::string& note : measured.notes) spdlog::warn("{}", note);
  measured.profile.foreign_work = foreign_work;
  return std::move(measured.profile);
}

// Measures the kernels of a step, without swaps.
absl::StatusOr<MeasuredGraph> MeasureGraph(const Program& program,
                                           const StepOptions& options,
                                           const KernelMeasurement& spec,
                                           const Feeds* given) {
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                            MakeSession(program, options, {}));
  const ZeroFeeds zeros(program.graph);
  const Feeds& feeds = given != nullptr ? *given : zeros.feeds();
  MeasuredGraph step;
  SPILLWAY_ASSIGN_OR_RETURN(
      step.kernels, MeasureKernels(spec, program.graph, feeds, *session));
  SPILLWAY_ASSIGN_OR_RETURN(
      step.kernel_ns_per_copied_byte,
      MeasureContentionOf(options, ContentionSpec(spec.steps, spec.stop), feeds,
                          *session));
  session.reset();  // its memory is needed
  SPILLWAY_RETURN_IF_ERROR(
      MeasureDerivedNodes(program, options, spec, feeds, step.kernels));
  if (options.algorithms == AlgorithmChoice::kFirst) return step;
  SPILLWAY_RETURN_IF_ERROR(
      MeasureAlgorithms(program, options, spec, feeds, step));
  return step;
}

// Other programs take no time from the kernels of a GPU.
CpuTimes NoCpuTimes() { return {}; }

absl::Status AddKernels(const StepOptions& options,
                        const ProfileMeasurement& measurement,
                        MeasuredProfile& measured) {
  SPILLWAY_RETURN_IF_ERROR(CheckProgram(*measurement.program));
  DeviceProfile& profile = measured.profile;
  const KernelMeasurement spec = {.warmup_steps = measurement.warmup_steps,
                                  .steps = measurement.steps,
                                  .call_ns = profile.call_ns,
                                  .stop = measurement.stop,
                                  .on_progress = measurement.on_progress};
  const auto measure = [&] {
    return MeasureGraph(*measurement.program, options, spec, measurement.feeds);
  };
  SPILLWAY_ASSIGN_OR_RETURN(const auto device, OpenWholeDevice(options));
  const bool takes_cpus = device->kind() == DeviceKind::kCpu;
  double foreign_work = 0;
  SPILLWAY_ASSIGN_OR_RETURN(
      MeasuredGraph step,
      MeasureAlone(takes_cpus ? measurement.cpu_clock : CpuClock(NoCpuTimes),
                   measure, foreign_work));
  profile.foreign_work = std::max(profile.foreign_work, foreign_work);
  profile.kernel_ns_per_copied_byte = step.kernel_ns_per_copied_byte;
  profile.kernels = step.kernels.kernel_ns;
  profile.algorithms = std::move(step.algorithms);
  measured.kernels = std::move(step.kernels);
  return absl::OkStatus();
}

absl::StatusOr<double> MeasureProductContention(
    const StepOptions& options, const ProfileMeasurement& measurement) {
  SPILLWAY_ASSIGN_OR_RETURN(auto device, OpenWholeDevice(options));
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      NewProductsSession(std::move(device), options.threads, options.math));
  return MeasureContentionOf(
      options, ContentionSpec(measurement.repeats, measurement.stop), {},
      *session);
}

absl::Status CheckMeasurement(const ProfileMeasurement& measurement) {
  if (measurement.repeats >= 1 && measurement.steps >= 1 &&
      measurement.warmup_steps >= 0) {
    return absl::OkStatus();
  }
  return InvalidArgument(fmt::format(
      "repeats {} and steps {} must be at least 1, warmup_steps {} at least 0",
      measurement.repeats, measurement.steps, measurement.warmup_steps));
}

// Keeps a fraction that matters, rounded to percent, and warns about it.
void MarkForeignWork(DeviceProfile& profile) {
  if (profile.foreign_work <= kMostForeignWork) {
    profile.foreign_work = 0;
    return;
  }
  profile.foreign_work = std::round(profile.foreign_work * 100) / 100;
  spdlog::warn(
      "other programs took {:.0f} % of the CPU time during every attempt, so "
      "the measured times may be wrong; measure again on an idle machine",
      100 * profile.foreign_work);
}

}  // namespace

absl::StatusOr<MeasuredProfile> MeasureProfileAndKernels(
    const StepOptions& options, const ProfileMeasurement& given) {
  SPILLWAY_RETURN_IF_ERROR(CheckStepOptions(options));
  SPILLWAY_RETURN_IF_ERROR(CheckMeasurement(given));
  ProfileMeasurement measurement = given;
  if (!measurement.cpu_clock) {
    measurement.cpu_clock = [] { return ReadCpuTimes(""); };
  }
  if (!measurement.on_progress) {
    measurement.on_progress = [](std::string_view, int64_t, int64_t) {};
  }
  MeasuredProfile measured;
  DeviceProfile& profile = measured.profile;
  SPILLWAY_ASSIGN_OR_RETURN(profile, MeasureDevice(options, measurement));
  if (measurement.program != nullptr) {
    SPILLWAY_RETURN_IF_ERROR(AddKernels(options, measurement, measured));
  } else {
    SPILLWAY_ASSIGN_OR_RETURN(profile.kernel_ns_per_copied_byte,
                              MeasureProductContention(options, measurement));
  }
  MarkForeignWork(profile);
  return measured;
}

absl::StatusOr<DeviceProfile> MeasureProfile(
    const StepOptions& options, const ProfileMeasurement& measurement) {
  SPILLWAY_ASSIGN_OR_RETURN(MeasuredProfile measured,
                            MeasureProfileAndKernels(options, measurement));
  return std::move(measured.profile);
}

void KeepKernels(DeviceProfile old, DeviceProfile& profile) {
  if (old.libraries != profile.libraries) return;
  const size_t measured = profile.kernels.size();
  profile.kernels.merge(old.kernels);
  profile.algorithms.merge(old.algorithms);
  if (profile.kernels.size() > measured) {
    profile.foreign_work = std::max(profile.foreign_work, old.foreign_work);
  }
}

absl::StatusOr<std::string> ReadableText(DeviceProfile& profile) {
  for (const std::string& note : MakePlausible(profile)) {
    spdlog::warn("{}", note);
  }
  std::string text = FormatDeviceProfile(profile);
  const absl::Status status =
      ParseDeviceProfile(text, "what was measured").status();
  if (!status.ok()) return Internal(std::string(status.message()));
  return text;
}

absl::Status SaveProfile(DeviceProfile profile, const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) {
    SPILLWAY_ASSIGN_OR_RETURN(DeviceProfile old, ReadDeviceProfile(path));
    SPILLWAY_RETURN_IF_ERROR(CheckSameDevice(old, profile.name, path));
    KeepKernels(std::move(old), profile);
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::string text, ReadableText(profile));
  return WriteFileAtomically(path, text);
}

absl::Status CheckSameDevice(const DeviceProfile& old, std::string_view device,
                             const std::string& path) {
  if (old.name == device) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("{} is a profile of \"{}\", not of \"{}\"; name another file",
                  path, old.name, std::string(device)));
}

}  // namespace spillway
