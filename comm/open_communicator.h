// Opens the communicator of a backend by name.
#ifndef SPILLWAY_COMM_OPEN_COMMUNICATOR_H_
#define SPILLWAY_COMM_OPEN_COMMUNICATOR_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/nccl/nccl_api.h"
#include "comm/ranks.h"

namespace spillway {

// The GPU of a rank (executor/gpu_of_rank.h).
struct GpuOfRank {
  std::string device = {};  // "cuda:1"
  // Of no other GPU on any host: "node7 0000:17:00.0".
  std::string name = {};
  // Borrowed for the communicator's lifetime. Null: this rank has no NCCL.
  NcclApi* nccl = nullptr;
  std::string missing_nccl = {};  // then: why
};

struct CommSpec {
  // "auto", "self", "gloo", "mpi" or "nccl" ("thread" has its own functions).
  // auto: self for a single rank; mpi for ranks of mpirun, or of srun without a
  // rendezvous, if it is built in; else gloo. With `gpu`, and if each rank has
  // NCCL and a GPU of its own, also nccl. nccl: it is an error if not; what
  // goes through the host's memory is sent as with auto.
  std::string backend = "auto";
  RankIdentity identity = {};
  // The network interface ("eth0") that gloo listens on; "": loopback only, so
  // all ranks are on one host.
  std::string interface = {};
  CommOptions options = {};
  // Of all ranks or of none; the current one of this thread.
  std::optional<GpuOfRank> gpu = {};
};

// The names of the backends of this build, "auto" first.
const std::vector<std::string_view>& CommBackends();

// Returns when all ranks have opened theirs. Errors: INVALID_ARGUMENT for an
// unknown backend, one that is not built in (naming the package and the build
// option), a missing rendezvous, a timeout that is not positive, `self` in a
// run of several ranks, or `nccl` where a rank lacks it or shares its GPU,
// naming the rank; DEADLINE_EXCEEDED naming the rendezvous if ranks are
// missing; ABORTED if they belong to another run, or have another version;
// UNAVAILABLE from the library.
absl::StatusOr<std::unique_ptr<Communicator>> OpenCommunicator(
    const CommSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_COMM_OPEN_COMMUNICATOR_H_
