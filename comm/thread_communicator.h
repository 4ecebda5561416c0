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
//
// With `processes`, the threads of each of several processes, with the same
// `size`: thread t of process p is rank p * size + t. One thread speaks for its
// process, so it sends as much as one rank; sums are added within the
// processes first. Borrowed; it is only for these communicators then.
std::vector<std::unique_ptr<Communicator>> NewThreadCommunicators(
    int size, const CommOptions& options = {},
    Communicator* processes = nullptr);

// The only rank of a run.
std::unique_ptr<Communicator> NewSelfCommunicator(
    const CommOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_COMM_THREAD_COMMUNICATOR_H_
