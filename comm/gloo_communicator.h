// Gloo: ranks that are processes, over TCP. Needs no MPI; a rank that dies or
// is late is an error of the others.
//
// The timeout holds for each wait for another rank, of which a call has a few,
// and for the opening as a whole. The rank that fails first says why in the
// rendezvous, and the others return that: all end with the same code. They wait
// a second for it, so a rank's death is known after that second.
//
// Calls whose sizes differ end the process, in a thread of Gloo's, unless
// CommOptions::check_calls finds them before. Gloo's own ports, at the
// interface that it listens on, know no run id: it is for trusted networks.
#ifndef SPILLWAY_COMM_GLOO_COMMUNICATOR_H_
#define SPILLWAY_COMM_GLOO_COMMUNICATOR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/open_communicator.h"

namespace spillway {

// Ranks find each other in spec.identity.rendezvous_folder
// (rendezvous/folder_store.h), or at rendezvous_address, where rank 0 listens
// (rendezvous/tcp_store.h). Names and addresses are told under the run's id, so
// files of an earlier run are not read, and a process that does not know the id
// is not let in. A run of one rank needs neither. Errors: as OpenCommunicator.
//
// Abort takes up to half a second, if rank 0 serves the rendezvous and does not
// answer. A communicator that is destroyed while others wait for it is a lost
// rank.
absl::StatusOr<std::unique_ptr<Communicator>> OpenGlooCommunicator(
    const CommSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_COMM_GLOO_COMMUNICATOR_H_
