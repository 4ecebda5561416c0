// MPI: ranks that mpirun or srun has started. Calls are non-blocking ones that
// are polled, so a rank that is late is an error here too; a rank that dies
// ends the job, as MPI does.
//
// After an error, MPI may still write to the memory of the call that failed
// whenever the process calls it; so this process does not, except to abort, and
// does not finalize it. mpirun then ends the job when the process exits.
#ifndef SPILLWAY_COMM_MPI_COMMUNICATOR_H_
#define SPILLWAY_COMM_MPI_COMMUNICATOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/open_communicator.h"

namespace spillway {

// Initialises MPI, once a process; its end is MPI's end. local_rank and
// local_size are those of ranks that share memory, as MPI sees them.
// Abort ends all ranks (MPI_Abort) with status 75 for DEADLINE_EXCEEDED, 76 for
// UNAVAILABLE, 5 for ABORTED, else 1. A NaN's sign and payload may differ among
// the ranks after an all-reduce. Errors: as OpenCommunicator; INVALID_ARGUMENT
// if MPI's rank or size are not those of spec.identity; FAILED_PRECONDITION if
// the program has initialised MPI for one thread, or has finalized it.
absl::StatusOr<std::unique_ptr<Communicator>> OpenMpiCommunicator(
    const CommSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_COMM_MPI_COMMUNICATOR_H_
