#include "tools/spillway/measure_profile.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "benchmarks/measure_contention.h"
#include "benchmarks/measure_host.h"
#include "benchmarks/measure_link.h"
#include "benchmarks/measure_rates.h"
#include "benchmarks/plausible_profile.h"
#include "benchmarks/synthetic_feeds.h"
#include "executor/device/registry.h"
#include "executor/kernel_registry.h"
#include "executor/session.h"
#include "fmt/format.h"
#include "graph/schedule.h"
#include "graph/well_known_ops.h"
#include "ops/all_ops.h"
#include "ops/open_libraries.h"
#include "simulator/node_signature.h"
#include "spdlog/spdlog.h"
#include "tools/spillway/profile_files.h"

namespace spillway {
namespace {

// "AMD EPYC 9654"; empty where the system does not say.
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

// 0 where lanes never run beside each other, or copies take no core.
absl::StatusOr<double> MeasureContentionOf(const DeviceFlags& flags,
                                           int64_t repeats, const Feeds& feeds,
                                           Session& session) {
  // Fast enough to be felt, slow enough to be kept up beside kernels.
  constexpr double kMostGbps = 4;
  DeviceFlags paced = flags;
  if (flags.link_gbps <= 0 || flags.link_gbps > kMostGbps) {
    paced.link_gbps = kMostGbps;
  }
  SPILLWAY_ASSIGN_OR_RETURN(const auto kernels,
                            OpenDevice(flags, MemoryFlags{}));
  if (kernels->name() != "cpu") return 0;
  SPILLWAY_ASSIGN_OR_RETURN(const auto copies,
                            OpenDevice(paced, MemoryFlags{}));
  return MeasureContention({.rounds = std::clamp<int64_t>(repeats / 2, 1, 9)},
                           feeds, session, *copies);
}

// Zeros for every Placeholder of a graph that says nothing about its feeds.
class ZeroFeeds {
 public:
  explicit ZeroFeeds(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      if (node.op != kPlaceholder) continue;
      const TensorType& type = graph.type(graph.output(node.id));
      const auto size = static_cast<size_t>(type.num_bytes());
      const std::vector<std::byte>& zeros = zeros_.emplace_back(size);
      feeds_[graph.output(node.id)] = {.type = type, .data = zeros.data()};
    }
  }

  const Feeds& feeds() const { return feeds_; }

 private:
  std::vector<std::vector<std::byte>> zeros_;
  Feeds feeds_;
};

absl::StatusOr<std::unique_ptr<Session>> MakeSession(
    const SourceGraph& source, const DeviceFlags& flags,
    const AlgorithmNames& algorithms) {
  SPILLWAY_ASSIGN_OR_RETURN(auto device, OpenDevice(flags, MemoryFlags{}));
  std::vector<Program> programs;
  programs.push_back({.graph = source.graph,
                      .fetches = source.fetches,
                      .algorithms = algorithms});
  return Session::Create(std::move(programs), std::move(device),
                         MakeSessionOptions(flags, MemoryFlags{}, 0));
}

// The algorithms that the kernels of a step can choose from.
absl::StatusOr<ListedAlgorithms> ListStep(const SourceGraph& source,
                                          const DeviceFlags& flags) {
  const OpRegistry& ops = StandardOps();
  SPILLWAY_ASSIGN_OR_RETURN(const auto device,
                            OpenDevice(flags, MemoryFlags{}));
  SPILLWAY_ASSIGN_OR_RETURN(
      const KernelMap kernels,
      PrepareKernels(
          source.graph, ops, StandardKernels(),
          NodesToRun(source.graph, ops, source.fetches),
          {.kind = device->kind(),
           .threads = ResolveThreads(static_cast<int>(flags.threads)),
           .math = flags.math}));
  return ListAlgorithms(source.graph, kernels);
}

// The algorithms of one place in the kernels' lists; the first of kernels that
// list fewer.
AlgorithmNames NamesAt(const ListedAlgorithms& listed, size_t place) {
  AlgorithmNames names(listed.size());
  for (size_t i = 0; i < listed.size(); ++i) {
    const NodeId node(i);
    if (place < listed[node].size()) names[node] = listed[node][place].name;
  }
  return names;
}

size_t MostAlgorithms(const ListedAlgorithms& listed) {
  size_t most = 0;
  for (const auto& of_node : listed) most = std::max(most, of_node.size());
  return most;
}

// Adds those of one place in the kernels' lists, as they were measured.
void AddAlgorithms(const Graph& graph, const ListedAlgorithms& listed,
                   size_t place, const MeasuredKernels& kernels,
                   MeasuredStep& step) {
  for (const Node& node : graph.nodes()) {
    if (place >= listed[node.id].size()) continue;
    const std::string signature = NodeSignature(graph, node);
    const KernelAlgorithm& algorithm = listed[node.id][place];
    step.algorithms[signature][algorithm.name] = {
        .workspace_bytes = algorithm.workspace_bytes,
        .ns = kernels.kernel_ns.at(signature)};
  }
}

// `step` has what the first of them took.
absl::Status MeasureAlgorithms(const SourceGraph& source,
                               const DeviceFlags& flags,
                               const KernelMeasurement& spec,
                               const Feeds& feeds, MeasuredStep& step) {
  SPILLWAY_ASSIGN_OR_RETURN(const ListedAlgorithms listed,
                            ListStep(source, flags));
  AddAlgorithms(source.graph, listed, 0, step.kernels, step);
  for (size_t place = 1; place < MostAlgorithms(listed); ++place) {
    const absl::StatusOr<std::unique_ptr<Session>> session =
        MakeSession(source, flags, NamesAt(listed, place));
    if (absl::IsResourceExhausted(session.status())) {
      spdlog::warn("algorithms number {} are not measured: {}", place + 1,
                   std::string(session.status().message()));
      continue;
    }
    SPILLWAY_RETURN_IF_ERROR(session.status());
    SPILLWAY_ASSIGN_OR_RETURN(
        const MeasuredKernels kernels,
        MeasureKernels(spec, source.graph, feeds, **session));
    AddAlgorithms(source.graph, listed, place, kernels, step);
  }
  return absl::OkStatus();
}

absl::StatusOr<DeviceProfile> MeasureDeviceOnce(const DeviceFlags& flags,
                                                int64_t repeats) {
  DeviceProfile profile;
  SPILLWAY_ASSIGN_OR_RETURN(profile.name, DescribeDevice(flags));
  profile.source = fmt::format("spillway profile on {}", ProcessorName());
  SPILLWAY_ASSIGN_OR_RETURN(profile.libraries, LibrariesOf(flags));
  SPILLWAY_ASSIGN_OR_RETURN(auto device, OpenDevice(flags, MemoryFlags{}));
  profile.in_turn = device->name() == "inline";
  SPILLWAY_RETURN_IF_ERROR(OpenKernelLibraries(device->kind()));
  SPILLWAY_ASSIGN_OR_RETURN(profile.memory_bytes, device->FreeBytes());
  SPILLWAY_ASSIGN_OR_RETURN(const MeasuredLink link, MeasureLink(*device));
  profile.to_host = link.to_host;
  profile.to_device = link.to_device;
  if (!profile.in_turn) {
    SPILLWAY_ASSIGN_OR_RETURN(profile.issue_ns, MeasureIssueNs(*device));
    SPILLWAY_ASSIGN_OR_RETURN(profile.wake_ns, MeasureWakeNs(*device));
  }
  const RateMeasurement spec = {.threads = static_cast<int>(flags.threads),
                                .steps = std::min<int64_t>(repeats, 9),
                                .math = flags.math};
  SPILLWAY_ASSIGN_OR_RETURN(auto second, OpenDevice(flags, MemoryFlags{}));
  SPILLWAY_ASSIGN_OR_RETURN(profile.call_ns,
                            MeasureCallNs(std::move(second), spec));
  SPILLWAY_ASSIGN_OR_RETURN(const MeasuredRates rates,
                            MeasureRates(std::move(device), spec));
  profile.memory_bytes_per_second = rates.memory_bytes_per_second;
  profile.flops_per_second = rates.flops_per_second;
  profile.kernel_ns = rates.kernel_ns;
  return profile;
}

}  // namespace

absl::StatusOr<DeviceProfile> MeasureDevice(const DeviceFlags& flags,
                                            int64_t repeats) {
  SPILLWAY_ASSIGN_OR_RETURN(PlausibleProfile measured, MeasurePlausibly([&] {
                              return MeasureDeviceOnce(flags, repeats);
                            }));
  for (const std::string& note : measured.notes) spdlog::warn("{}", note);
  return std::move(measured.profile);
}

absl::StatusOr<MeasuredStep> MeasureGraph(const SourceGraph& source,
                                          const DeviceFlags& flags,
                                          const KernelMeasurement& spec) {
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                            MakeSession(source, flags, {}));
  const ZeroFeeds zeros(source.graph);
  std::optional<SyntheticFeeds> images;
  if (source.model) images.emplace(source.graph, *source.model, 0);
  const Feeds feeds = images ? images->feeds() : zeros.feeds();
  MeasuredStep step;
  SPILLWAY_ASSIGN_OR_RETURN(
      step.kernels, MeasureKernels(spec, source.graph, feeds, *session));
  SPILLWAY_ASSIGN_OR_RETURN(
      step.kernel_ns_per_copied_byte,
      MeasureContentionOf(flags, spec.steps, feeds, *session));
  if (!flags.chooses_algorithms()) return step;
  session.reset();  // its memory is needed
  SPILLWAY_RETURN_IF_ERROR(MeasureAlgorithms(source, flags, spec, feeds, step));
  return step;
}

absl::StatusOr<double> MeasureProductContention(const DeviceFlags& flags,
                                                int64_t repeats) {
  SPILLWAY_ASSIGN_OR_RETURN(auto device, OpenDevice(flags, MemoryFlags{}));
  SPILLWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      NewProductsSession(std::move(device), static_cast<int>(flags.threads),
                         flags.math));
  return MeasureContentionOf(flags, repeats, {}, *session);
}

}  // namespace spillway
