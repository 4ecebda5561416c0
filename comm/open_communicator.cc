#include "comm/open_communicator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/status_macros.h"
#include "comm/thread_communicator.h"
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

}  // namespace

const std::vector<std::string_view>& CommBackends() {
  static const std::vector<std::string_view> backends = [] {
    std::vector<std::string_view> names = {"auto", "self"};
    if (kHasGloo) names.emplace_back("gloo");
    if (kHasMpi) names.emplace_back("mpi");
    return names;
  }();
  return backends;
}

absl::StatusOr<std::unique_ptr<Communicator>> OpenCommunicator(
    const CommSpec& spec) {
  if (spec.options.timeout.count() <= 0) {
    return InvalidArgument(
        fmt::format("the timeout of communication is {} ms; it must be above 0",
                    spec.options.timeout.count()));
  }
  const std::string backend =
      spec.backend == "auto" ? ChooseBackend(spec.identity) : spec.backend;
  if (backend == "self") return OpenSelf(spec);
  if (backend == "gloo") return OpenGloo(spec);
  if (backend == "mpi") return OpenMpi(spec);
  return InvalidArgument(fmt::format("unknown backend '{}'; this build has {}",
                                     spec.backend,
                                     fmt::join(CommBackends(), ", ")));
}

}  // namespace spillway
