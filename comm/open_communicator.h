// Opens the communicator of a backend by name.
#ifndef SPILLWAY_COMM_OPEN_COMMUNICATOR_H_
#define SPILLWAY_COMM_OPEN_COMMUNICATOR_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks.h"

namespace spillway {

struct CommSpec {
  // "auto", "self", "gloo" or "mpi" ("thread" has its own functions). auto:
  // self for a single rank; mpi for ranks of mpirun, or of srun without a
  // rendezvous, if it is built in; else gloo.
  std::string backend = "auto";
  RankIdentity identity = {};
  // The network interface ("eth0") that gloo listens on; "": loopback only, so
  // all ranks are on one host.
  std::string interface = {};
  CommOptions options = {};
};

// The names of the backends of this build, "auto" first.
const std::vector<std::string_view>& CommBackends();

// Returns when all ranks have opened theirs. Errors: INVALID_ARGUMENT for an
// unknown backend, one that is not built in (naming the package and the build
// option), a missing rendezvous, a timeout that is not positive, or `self` in
// a run of several ranks; DEADLINE_EXCEEDED naming the rendezvous if ranks are
// missing; ABORTED if they belong to another run, or have another version;
// UNAVAILABLE from the library.
absl::StatusOr<std::unique_ptr<Communicator>> OpenCommunicator(
    const CommSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_COMM_OPEN_COMMUNICATOR_H_
