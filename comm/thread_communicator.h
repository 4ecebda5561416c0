// Ranks that are threads of one process: for tests, for executor groups, and
// as the reference of the other backends. Sums are added in the order of the
// ranks, so results do not depend on timing.
#ifndef SPILLWAY_COMM_THREAD_COMMUNICATOR_H_
#define SPILLWAY_COMM_THREAD_COMMUNICATOR_H_

#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace spillway {

// One communicator for each rank, each for a thread of its own. One that is
// destroyed while others wait for it is a lost rank. Requires: size >= 1.
std::vector<std::unique_ptr<Communicator>> NewThreadCommunicators(
    int size, const CommOptions& options = {});

// The only rank of a run.
std::unique_ptr<Communicator> NewSelfCommunicator(
    const CommOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_COMM_THREAD_COMMUNICATOR_H_
