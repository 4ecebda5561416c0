#include "comm/open_communicator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "comm/nccl/nccl_collectives.h"
#include "comm/thread_communicator.h"
#include "spdlog/spdlog.h"
#ifdef SPILLWAY_WITH_GLOO
#include "comm/gloo_communicator.h"
#endif
#ifdef SPILLWAY_WITH_MPI
#include "comm/mpi_communicator.h"
#endif

namespace spillway {
namespace {

#ifdef SPILLWAY_WITH_GLOO
constexpr bool kHasGloo = true;
#else
constexpr bool kHasGloo = false;
#endif
#ifdef SPILLWAY_WITH_MPI
constexpr bool kHasMpi = true;
#else
constexpr bool kHasMpi = false;
#endif

bool IsOfMpirun(const RankIdentity& identity) {
  return identity.launcher == "Open MPI" || identity.launcher == "PMI";
}

bool HasRendezvous(const RankIdentity& identity) {
  return !identity.rendezvous_folder.empty() ||
         !identity.rendezvous_address.empty();
}

std::string ChooseBackend(const RankIdentity& identity) {
  if (identity.size == 1) return "self";
  if (IsOfMpirun(identity) && (kHasMpi || !HasRendezvous(identity))) {
    return "mpi";
  }
  if (identity.launcher == "Slurm" && kHasMpi && !HasRendezvous(identity)) {
    return "mpi";
  }
  return "gloo";
}

absl::StatusOr<std::unique_ptr<Communicator>> OpenSelf(const CommSpec& spec) {
  if (spec.identity.size == 1) return NewSelfCommunicator(spec.options);
  return InvalidArgument(fmt::format(
      "backend self in a run of {} ranks ({}): each would be a run of its own",
      spec.identity.size, spec.identity.launcher));
}

absl::StatusOr<std::unique_ptr<Communicator>> OpenGloo(
    [[maybe_unused]] const CommSpec& spec) {
#ifdef SPILLWAY_WITH_GLOO
  return OpenGlooCommunicator(spec);
#else
  return InvalidArgument(
      "backend gloo is not built in: install libgloo-dev and configure with "
      "-DSPILLWAY_GLOO=ON");
#endif
}

absl::StatusOr<std::unique_ptr<Communicator>> OpenMpi(
    [[maybe_unused]] const CommSpec& spec) {
#ifdef SPILLWAY_WITH_MPI
  return OpenMpiCommunicator(spec);
#else
  return InvalidArgument(fmt::format(
      "backend mpi, for rank {} of {}, is not built in: install libopenmpi-dev "
      "and configure with -DSPILLWAY_MPI=ON",
      spec.identity.rank, spec.identity.size));
#endif
}

// All but NCCL.
absl::StatusOr<std::unique_ptr<Communicator>> OpenOnHost(const CommSpec& spec) {
  const bool is_chosen = spec.backend != "auto" && spec.backend != "nccl";
  const std::string backend =
      is_chosen ? spec.backend : ChooseBackend(spec.identity);
  if (backend == "self") return OpenSelf(spec);
  if (backend == "gloo") return OpenGloo(spec);
  if (backend == "mpi") return OpenMpi(spec);
  return InvalidArgument(fmt::format("unknown backend '{}'; this build has {}",
                                     spec.backend,
                                     fmt::join(CommBackends(), ", ")));
}

// Why one of the ranks cannot take part in NCCL, "" if all can: the same on all
// of them. `texts`: of each rank, "+" and its GPU, or "-" and what is missing.
std::string FindNcclObstacle(const std::vector<std::string>& texts) {
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    const std::string& text = texts[rank];
    if (!text.starts_with('+')) {
      return fmt::format("rank {} has no NCCL: {}", rank,
                         text.empty() ? text : text.substr(1));
    }
    const auto same = std::find(texts.begin(), texts.end(), text);
    const auto first = static_cast<size_t>(same - texts.begin());
    if (first != rank) {
      return fmt::format(
          "ranks {} and {} share the GPU {}; NCCL wants one for each rank",
          first, rank, text.substr(1));
    }
  }
  return "";
}

// FAILED_PRECONDITION on all ranks if not all can take part.
absl::Status AddNccl(const CommSpec& spec, Communicator& communicator) {
  const CommOptions& options = spec.options;
  if (options.deterministic_reduce || options.slow_bytes_per_second > 0) {
    return FailedPrecondition(
        "NCCL adds in an order of its own and at full speed: no "
        "deterministic_reduce, no slowed network");
  }
  std::string text = "-the program has no CUDA, or does not use a GPU";
  if (spec.gpu) {
    text = spec.gpu->nccl != nullptr ? "+" + spec.gpu->name
                                     : "-" + spec.gpu->missing_nccl;
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                            communicator.AllGatherText(text));
  const std::string obstacle = FindNcclObstacle(texts);
  if (!obstacle.empty()) return FailedPrecondition(obstacle);
  SPILLWAY_ASSIGN_OR_RETURN(
      std::unique_ptr<StreamCollectives> nccl,
      OpenNcclCollectives(*spec.gpu->nccl, communicator, options.timeout));
  communicator.SetStreams(std::move(nccl));
  return absl::OkStatus();
}

}  // namespace

const std::vector<std::string_view>& CommBackends() {
  static const std::vector<std::string_view> kBackends = [] {
    std::vector<std::string_view> names = {"auto", "self"};
    if (kHasGloo) names.emplace_back("gloo");
    if (kHasMpi) names.emplace_back("mpi");
    names.emplace_back("nccl");
    return names;
  }();
  return kBackends;
}

absl::StatusOr<std::unique_ptr<Communicator>> OpenCommunicator(
    const CommSpec& spec) {
  if (spec.options.timeout.count() <= 0) {
    return InvalidArgument(
        fmt::format("the timeout of communication is {} ms; it must be above 0",
                    spec.options.timeout.count()));
  }
  SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator,
                            OpenOnHost(spec));
  const bool needs_nccl = spec.backend == "nccl";
  if (!needs_nccl && (spec.backend != "auto" || !spec.gpu)) return communicator;
  const absl::Status added = AddNccl(spec, *communicator);
  if (added.ok()) return communicator;
  if (needs_nccl || !absl::IsFailedPrecondition(added)) {
    return Annotate(added, "backend nccl");
  }
  if (communicator->rank() == 0) {
    spdlog::info("gradients go through the host's memory: {}",
                 std::string(added.message()));
  }
  return communicator;
}

}  // namespace spillway
