// NCCL: all-reduces among GPUs, each of one rank. The ranks find each other by
// an id that rank 0 sends with the communicator of the host.
//
// A call is as late as the step that it is in: a step that lasts longer than
// CommOptions::timeout, from Begin to End, is DEADLINE_EXCEEDED. What NCCL
// itself learns of a lost rank is UNAVAILABLE. During a long step, the host's
// communicator is asked too (FindEnd): its error ends the step.
#ifndef SPILLWAY_COMM_NCCL_NCCL_COLLECTIVES_H_
#define SPILLWAY_COMM_NCCL_NCCL_COLLECTIVES_H_

#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/nccl/nccl_api.h"
#include "comm/stream_collectives.h"

namespace spillway {

// For this thread's current GPU; all ranks of `host` call it. NCCL takes memory
// of the GPU. `api` is borrowed; so is `host` between Begin and End. Errors:
// INVALID_ARGUMENT for a version before 2.18; UNAVAILABLE from NCCL, as for two
// ranks with one GPU; DEADLINE_EXCEEDED if ranks are missing; those of `host`.
absl::StatusOr<std::unique_ptr<StreamCollectives>> OpenNcclCollectives(
    NcclApi& api, Communicator& host, std::chrono::milliseconds timeout);

}  // namespace spillway

#endif  // SPILLWAY_COMM_NCCL_NCCL_COLLECTIVES_H_
